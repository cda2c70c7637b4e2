// An Svg has those parts of a canvas that pictures use, and makes a text of them for a file or for paper.
class Svg {
  static space = new DOMParser().parseFromString('<svg></svg>', 'text/html').querySelector('svg').namespaceURI;
  static clips = 0;
  static ruler = document.createElement('canvas').getContext('2d');
  constructor(w, h) {
    Object.assign(this, { w, h, out: [], held: [], d: '', dash: [], at: '', clipped: '', fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, globalAlpha: 1, font: font(), textAlign: 'start', textBaseline: 'alphabetic' });
  }
  save() { const { dash, at, clipped, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline } = this; this.held.push({ dash, at, clipped, fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline }); }
  restore() { Object.assign(this, this.held.pop()); }
  translate(x, y) { this.at += `translate(${x} ${y}) `; }
  rotate(a) { this.at += `rotate(${a * 180 / Math.PI}) `; }
  setLineDash(dash) { this.dash = dash; }
  measureText(text) { Svg.ruler.font = this.font; return Svg.ruler.measureText(text); }
  beginPath() { this.d = ''; }
  moveTo(x, y) { this.d += `M${x.toFixed(1)} ${y.toFixed(1)}`; }
  lineTo(x, y) { this.d += `${this.d ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`; }
  rect(x, y, w, h) { this.d += `M${x.toFixed(1)} ${y.toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`; }
  arc(x, y, r) { this.d += `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
  clip() { this.out.push(`<clipPath id="c${++Svg.clips}"><path d="${this.d}"/></clipPath>`); this.clipped = ` clip-path="url(#c${Svg.clips})"`; }
  add(what) { this.out.push(what.replace('>', `${this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ''}${this.at ? ` transform="${this.at.trim()}"` : ''}${this.clipped}>`)); }
  stroke() { if (this.d) this.add(`<path d="${this.d}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.dash.length ? ` stroke-dasharray="${this.dash}"` : ''}></path>`); }
  fill() { if (this.d) this.add(`<path d="${this.d}" fill="${this.fillStyle}"></path>`); }
  fillRect(x, y, w, h) { this.beginPath(); this.rect(x, y, w, h); this.fill(); }
  fillText(text, x, y, most) {
    const size = parseFloat(/[\d.]+px/.exec(this.font)), down = { top: .8, middle: .35, bottom: -.2 }[this.textBaseline] ?? 0, anchor = { center: 'middle', right: 'end' }[this.textAlign] ?? 'start';
    const wide = most && this.measureText(text).width > most ? ` textLength="${most.toFixed(1)}" lengthAdjust="spacingAndGlyphs"` : '';
    this.add(`<text x="${x.toFixed(1)}" y="${(y + down * size).toFixed(1)}" font-size="${size}" font-weight="${/bold/.test(this.font) ? 700 : 400}" text-anchor="${anchor}" fill="${this.fillStyle}"${wide}></text>`.replace('></text>', () => '>' + markup(text) + '</text>'));
  }
  text() { return `<svg xmlns="${Svg.space}" width="${this.w}" height="${this.h}" viewBox="0 0 ${this.w} ${this.h}" font-family="sans-serif">${this.out.join('')}</svg>`; }
}
const markup = text => String(text).replace(/[&<>"']/g, ch => `&#${ch.charCodeAt(0)};`);

// Files of pictures and tables. rows returns their cells, the heads first.
const csvCell = cell => { let t = cell == null || Number.isNaN(cell) ? '' : String(cell); if (typeof cell === 'string' && /^[=+\-@\t\r]/.test(t)) t = "'" + t; return /[",\n\r]/.test(t) ? '"' + t.replaceAll('"', '""') + '"' : t; };
const csvOf = rows => rows.map(row => row.map(csvCell).join(',') + '\r\n').join('');
const jsonOf = ([heads, ...rows]) => JSON.stringify(rows.map(row => Object.fromEntries(heads.map((head, k) => [head, Number.isNaN(row[k]) ? null : row[k]]))), null, 1);
function save(name, type, text) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = 'sojourn-' + name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
function files(box, id, rows, svg) {
  const bar = document.createElement('p');
  bar.className = 'files';
  const offer = (kind, make) => { const b = document.createElement('button'); b.type = 'button'; b.textContent = kind; b.addEventListener('click', make); b.setAttribute('aria-label', kind + ' of ' + box.querySelector('h2').textContent); bar.append(b, ' '); };
  offer('CSV', () => save(id + '.csv', 'text/csv', csvOf(rows())));
  offer('JSON', () => save(id + '.json', 'application/json', jsonOf(rows())));
  if (svg) offer('SVG', () => save(id + '.svg', 'image/svg+xml', svg()));
  box.append(bar);
  if (svg) box.append(alternative(rows));
}
// alternative is a picture as a table, which is made when it is opened.
function alternative(rows) {
  const more = document.createElement('details'), title = document.createElement('summary'), most = 200;
  title.textContent = 'as a table';
  more.append(title);
  more.addEventListener('toggle', () => {
    more.querySelectorAll('div').forEach(e => e.remove());
    if (!more.open) return;
    const [heads, ...all] = rows(), box = document.createElement('div'), table = document.createElement('table');
    const put = (row, tag) => { const tr = document.createElement('tr'); for (const cell of row) { const e = document.createElement(tag); e.textContent = typeof cell === 'number' ? digits(cell, 4) : cell ?? '–'; tr.append(e); } return tr; };
    const head = document.createElement('thead'), body = document.createElement('tbody');
    head.append(put(heads, 'th')); body.append(...all.slice(0, most).map(row => put(row, 'td'))); table.append(head, body);
    box.className = 'scroll'; box.tabIndex = 0; box.setAttribute('role', 'region'); box.setAttribute('aria-label', more.parentElement.querySelector('h2').textContent + ', as a table');
    box.append(table);
    if (all.length > most) { const p = document.createElement('div'); p.textContent = `Showing ${most} of ${all.length} rows; CSV has all.`; more.append(p); }
    more.append(box);
  });
  return more;
}
// A picture is drawn on the canvas of a box, and by the same program for files and for paper. p has height(width, onScreen), draw(context,
// width, height, onScreen) and rows().
const pictures = [];
function picture(box, id, p) {
  const canvas = box.querySelector('canvas');
  let frame = null;
  const draw = () => {
    if (!canvas.clientWidth) return;
    canvas.style.height = p.height(canvas.clientWidth, true) + 'px';
    const [c, w, h] = fit(canvas);
    p.draw(c, w, h, true);
  };
  const later = () => { frame ??= requestAnimationFrame(() => { frame = null; draw(); }); };
  const svg = (w, ground) => {
    const h = p.height(w, ground), c = new Svg(w, h);
    if (ground) { c.fillStyle = css('--card'); c.fillRect(0, 0, w, h); }
    p.draw(c, w, h, false);
    return c.text();
  };
  files(box, id, p.rows, () => svg(Math.max(700, canvas.clientWidth), true));
  pictures.push({ canvas, svg });
  redraws.push(draw);
  new ResizeObserver(later).observe(canvas);
  draw();
  return later;
}
// On paper, pictures are lines instead of pixels, as wide as an A4 page, and tables have their first rows.
let before = null;
const unprint = () => document.querySelectorAll('.paper').forEach(e => e.remove());
addEventListener('beforeprint', () => {
  before ??= root.dataset.theme;
  setTheme('light');
  unprint();
  for (const { canvas, svg } of pictures) {
    const paper = document.createElement('div'), wide = canvas.closest('#gantt, #grids figure');
    paper.className = 'paper';
    paper.append(new DOMParser().parseFromString(svg(wide ? 680 : 330, false), 'image/svg+xml').documentElement);
    canvas.before(paper);
  }
  tables.forEach(t => t.show(false));
});
addEventListener('afterprint', () => { unprint(); setTheme(before || 'light'); before = null; });

document.querySelectorAll('.copy').forEach(b => b.addEventListener('click', () => {
  const from = document.getElementById(b.dataset.copy), range = document.createRange();
  range.selectNodeContents(from);
  if (from.contains(b)) range.setEndBefore(b);
  getSelection().removeAllRanges(); getSelection().addRange(range);
  b.textContent = document.execCommand('copy') ? 'copied' : 'press Ctrl+C';
}));

// Tables.
const tables = [...document.querySelectorAll('table.sortable')].map(table => {
  const body = table.tBodies[0], box = table.closest('section'), part = box.querySelector('.part');
  const show = all => {
    if (!part) return;
    const text = part.querySelector('span'), of = text.dataset.of ? ', of ' + text.dataset.of : '';
    table.classList.toggle('short', !all);
    text.textContent = all ? `All ${text.dataset.rows} rows${of}.` : `Showing 15 of ${text.dataset.rows} rows${of}.`;
    part.querySelector('button').textContent = all ? 'first 15' : 'all';
  };
  show(false);
  part?.querySelector('button').addEventListener('click', () => show(table.classList.contains('short')));
  files(box, table.id, () => [[...table.tHead.rows[0].cells].map(c => c.textContent), ...[...body.rows].map(row => [...row.cells].map(c => c.dataset.sort ? +c.dataset.sort : c.textContent))]);
  table.querySelectorAll('thead th').forEach((th, k) => th.querySelector('button').addEventListener('click', () => {
    const up = th.getAttribute('aria-sort') !== 'ascending';
    table.querySelectorAll('thead th').forEach(o => o.removeAttribute('aria-sort'));
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const number = th.classList.contains('number');
    const keyed = [...body.rows].map(row => { const td = row.cells[k]; return [number ? (td.dataset.sort === '' ? NaN : +td.dataset.sort) : td.textContent, row]; });
    keyed.sort(([a], [b]) => {
      if (number) { if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); return up ? a - b : b - a; }
      return up ? a.localeCompare(b) : b.localeCompare(a);
    });
    body.append(...keyed.map(e => e[1]));
  }));
  return { show };
});
