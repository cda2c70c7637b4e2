// The time that plots of time and the chart show, in seconds; its ends change together.
const view = { from: 0, to: 1, lo: 0, hi: 1, shown: [] };
function setView(from, to) {
  const least = Math.min(view.hi - view.lo, (view.hi - view.lo) * 1e-5), span = Math.min(view.hi - view.lo, Math.max(to - from, least));
  view.from = Math.max(view.lo, Math.min(from, view.hi - span));
  view.to = view.from + span;
  view.shown.forEach(later => later());
}
if (data.gantt) { view.lo = view.from = data.gantt.start; view.hi = view.to = Math.max(data.gantt.end, data.gantt.start + 1e-9); }
const zoomView = (factor, at = .5) => { const span = view.to - view.from, middle = view.from + at * span; setView(middle - at * span * factor, middle + (1 - at) * span * factor); };

function extent(series, keys) {
  let lo = Infinity, hi = -Infinity;
  for (const s of series) for (const k of keys) for (const v of s[k] ?? []) if (v != null) { if (v < lo) lo = v; if (v > hi) hi = v; }
  return [lo, hi];
}
// tailOf is a plot of shares as the shares of the rest, on a logarithmic axis.
function tailOf(p) {
  return { ...p, y: { label: 'share that takes longer', unit: '%', scale: 'log' }, series: p.series.map(s => ({ name: s.name, x: [s.x[0], ...s.x], y: [1, ...s.y.map(y => y < 1 - 1e-9 ? 1 - y : null)] })) };
}

// plot draws lines. made returns what is drawn: axes and series of names, places, values and, if there are bands, their ends.
function plot(figure, id, made) {
  const canvas = figure.querySelector('canvas'), legend = figure.querySelector('.legend'), readout = figure.querySelector('.readout');
  const first = made(), time = first.time, hidden = new Set(time && data.bold?.length && first.series.length > 3 ? first.series.map(s => s.name).filter(name => !isBold(name)) : []);
  let pointer = null, drag = null, at = null; // at: from pixels to values, as last drawn
  first.series.forEach(s => {
    const b = document.createElement('button'), swatch = document.createElement('i');
    b.type = 'button'; b.setAttribute('aria-pressed', String(!hidden.has(s.name)));
    b.append(swatch, s.name);
    b.addEventListener('click', () => { hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name); b.setAttribute('aria-pressed', String(!hidden.has(s.name))); later(); });
    legend.append(b);
  });
  function draw(c, w, h, screen) {
    const p = made(), lines = p.series.filter(s => !hidden.has(s.name));
    legend.querySelectorAll('i').forEach((el, i) => { const name = first.series[i].name; el.style.background = colourOf(name); el.style.maskImage = dashOf(name).length ? 'repeating-linear-gradient(90deg, #000 0 5px, transparent 5px 8px)' : ''; });
    const [xlo, xhi] = time ? [view.from, view.to] : extent(p.series, ['x']);
    let [ylo, yhi] = extent(time && lines.length ? lines : p.series, ['y', 'low', 'high']);
    if (p.y.scale !== 'log') { ylo = Math.min(0, ylo); yhi = p.y.unit === '%' && yhi <= 1 ? 1 : yhi * 1.05; } else { ylo /= 1.1; yhi *= 1.1; }
    const ys = scaleOf(p.y, ylo, yhi, h - 66, 34);
    c.font = font();
    const ends = w >= 300 && lines.length > 1 && p.x.scale !== 'names' ? lines.map(s => [s, short(s.name, 14), lastOf(s, xhi)]).filter(e => e[2]) : [];
    const left = Math.max(time && w > 600 ? 40 : 0, ...ys.ticks.map(t => c.measureText(t[1]).width)) + 34, right = 14 + (ends.length ? Math.max(...ends.map(e => c.measureText(e[1]).width)) + 10 : 0), top = 10, bottom = 46;
    const W = w - left - right, H = h - top - bottom;
    const xs = scaleOf(p.x, xlo, xhi, W, 74, time ? 0 : .03); // lines over time fill their plot
    const X = v => left + W * xs.at(v), Y = v => top + H * (1 - ys.at(v));
    if (screen) at = { left, W, back: xs.back };
    c.strokeStyle = css('--line'); c.fillStyle = css('--soft'); c.lineWidth = 1;
    c.textAlign = 'center'; c.textBaseline = 'top';
    let free = -Infinity;
    for (const [place, label] of xs.ticks) {
      const x = left + W * place, half = c.measureText(label).width / 2, middle = Math.min(Math.max(x, half + 2), w - half - 2);
      c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + H + 4); c.stroke();
      if (middle - half >= free) { c.fillText(label, middle, top + H + 7); free = middle + half + 4; }
    }
    c.textAlign = 'right'; c.textBaseline = 'middle';
    for (const [place, label] of ys.ticks) { const y = top + H * (1 - place); c.beginPath(); c.moveTo(left - 4, y); c.lineTo(left + W, y); c.stroke(); c.fillText(label, left - 8, y); }
    const name = (axis, unit) => axis.label + (unit ? ' (' + unit + ')' : '');
    c.fillStyle = css('--ink'); c.textAlign = 'center'; c.textBaseline = 'bottom';
    const half = Math.min(c.measureText(name(p.x, xs.unit)).width, w - 4) / 2;
    c.fillText(name(p.x, xs.unit), Math.max(half + 2, Math.min(left + W / 2, w - half - 2)), h - 4, w - 4);
    c.save(); c.translate(13, top + H / 2); c.rotate(-Math.PI / 2); c.textBaseline = 'middle'; c.fillText(name(p.y, ys.unit), 0, 0, H + 40); c.restore();
    const rule = v => { c.strokeStyle = css('--ink'); c.beginPath(); };
    if (p.x.scale === 'symlog' && X(0) >= left && X(0) <= left + W) { rule(); c.moveTo(X(0), top); c.lineTo(X(0), top + H); c.stroke(); }
    if (p.one && Y(1) >= top && Y(1) <= top + H) { rule(); c.moveTo(left, Y(1)); c.lineTo(left + W, Y(1)); c.stroke(); }
    c.save(); c.beginPath(); c.rect(left, top - 2, W, H + 4); c.clip();
    [...lines].reverse().sort((a, b) => isBold(a.name) - isBold(b.name)).forEach(s => { // what matters, and the first ones, on top
      c.strokeStyle = c.fillStyle = colourOf(s.name); c.setLineDash(dashOf(s.name)); c.lineWidth = isBold(s.name) ? 2.2 : 1.4;
      if (s.low && s.high && p.x.scale !== 'names') {
        c.globalAlpha = isBold(s.name) ? .18 : .09; c.beginPath();
        s.x.forEach((x, k) => { if (s.low[k] != null) c.lineTo(X(x), Y(s.low[k])); });
        for (let k = s.x.length - 1; k >= 0; k--) if (s.high[k] != null) c.lineTo(X(s.x[k]), Y(s.high[k]));
        c.fill(); c.globalAlpha = 1;
      }
      if (p.x.scale === 'names') { // points with whiskers
        const i = p.series.indexOf(s);
        s.x.forEach((x, k) => {
          if (s.y[k] == null) return;
          const px = X(x) + (i - (p.series.length - 1) / 2) * 7;
          c.lineWidth = 2; c.setLineDash([]);
          if (s.low) { c.beginPath(); c.moveTo(px, Y(s.low[k])); c.lineTo(px, Y(s.high[k])); c.stroke(); }
          c.beginPath(); c.arc(px, Y(s.y[k]), 4, 0, 7); c.fill();
        });
        return;
      }
      c.beginPath();
      let last = null; // an ECDF begins at 0
      s.x.forEach((x, k) => {
        if (s.y[k] == null || x == null) { last = null; return; }
        const px = X(x), py = Y(s.y[k]);
        if (last === null) { c.moveTo(px, p.steps && p.y.scale !== 'log' && p.x.scale ? Y(0) : py); c.lineTo(px, py); } else { if (p.steps) c.lineTo(px, last); c.lineTo(px, py); }
        last = py;
      });
      c.stroke();
      c.setLineDash([]);
      if (s.x.length < 30 && !p.steps) s.x.forEach((x, k) => { if (s.y[k] != null) { c.beginPath(); c.arc(X(x), Y(s.y[k]), 3, 0, 7); c.fill(); } });
    });
    c.restore(); c.setLineDash([]);
    // Names at the ends of lines, moved apart, with a thin line from each end.
    ends.forEach(e => { e.y = Math.max(top + 6, Math.min(top + H - 6, Y(e[2][1]))); e.x = Math.min(left + W, X(e[2][0])); });
    ends.sort((a, b) => a.y - b.y || b.x - a.x);
    while (ends.length * 13 > H + 13) ends.splice(ends.findLastIndex(e => !isBold(e[0].name)) >= 0 ? ends.findLastIndex(e => !isBold(e[0].name)) : ends.length - 1, 1);
    const place = ends.map(e => e.y);
    for (let k = 1; k < place.length; k++) place[k] = Math.max(place[k], place[k - 1] + 13);
    if (place.length) place[place.length - 1] = Math.min(place[place.length - 1], top + H);
    for (let k = place.length - 2; k >= 0; k--) place[k] = Math.min(place[k], place[k + 1] - 13);
    c.textAlign = 'left'; c.textBaseline = 'middle';
    ends.forEach((e, k) => {
      c.fillStyle = c.strokeStyle = colourOf(e[0].name); c.lineWidth = 1;
      c.globalAlpha = .6; c.beginPath(); c.moveTo(e.x, e.y); c.lineTo(left + W + 8, place[k]); c.stroke(); c.globalAlpha = 1;
      c.fillStyle = css('--ink');
      c.fillText(e[1], left + W + 11, place[k]);
    });
    if (!screen) return;
    readout.textContent = '';
    if (drag && Math.abs(drag.to - drag.from) > 3) { c.fillStyle = css('--accent'); c.globalAlpha = .2; c.fillRect(Math.min(drag.from, drag.to), top, Math.abs(drag.to - drag.from), H); c.globalAlpha = 1; }
    if (pointer !== null && W > 0) {
      const x = xs.back(Math.min(1, Math.max(0, (pointer - left) / W)));
      c.strokeStyle = css('--ink'); c.globalAlpha = .5; c.beginPath(); c.moveTo(X(x), top); c.lineTo(X(x), top + H); c.stroke(); c.globalAlpha = 1;
      readout.textContent = p.x.label + ' ' + value(x, p.x) + ': ' + lines.map(s => s.name + ' ' + value(nearest(s, x, p.steps), p.y)).join(', ');
    }
  }
  const later = picture(figure, id, {
    height: (w, screen) => time ? 190 : screen ? 300 : 230, draw,
    rows: () => { const p = made(), bands = p.series.some(s => s.low); return [['policy', p.x.label, p.y.label, ...(bands ? ['low', 'high'] : [])], ...p.series.flatMap(s => s.x.map((x, k) => [s.name, p.x.scale === 'names' ? p.x.names[x] : x, s.y[k], ...(bands ? [s.low?.[k], s.high?.[k]] : [])]))]; },
  });
  canvas.addEventListener('pointermove', e => { pointer = e.offsetX; if (drag) drag.to = e.offsetX; later(); });
  canvas.addEventListener('pointerleave', () => { pointer = null; later(); });
  canvas.addEventListener('keydown', e => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key], zoom = time && { '+': .7, '=': .7, '-': 1 / .7 }[e.key];
    if (by) pointer = Math.min(canvas.clientWidth, Math.max(0, (pointer ?? canvas.clientWidth / 2) + by * 12));
    else if (zoom) zoomView(zoom); else if (time && e.key === '0') setView(view.lo, view.hi); else return;
    later(); e.preventDefault();
  });
  canvas.addEventListener('blur', () => { pointer = null; later(); });
  if (time) {
    view.shown.push(later);
    canvas.addEventListener('pointerdown', e => { drag = { from: e.offsetX, to: e.offsetX }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointerup', () => {
      const d = drag;
      drag = null;
      if (d && Math.abs(d.to - d.from) > 5) { const [a, b] = [d.from, d.to].sort((x, y) => x - y).map(x => at.back(Math.min(1, Math.max(0, (x - at.left) / at.W)))); setView(a, b); } else later();
    });
    canvas.addEventListener('pointercancel', () => { drag = null; later(); });
    canvas.addEventListener('dblclick', () => setView(view.lo, view.hi));
  }
  return later;
}
const short = (name, most) => name.length > most ? name.slice(0, most - 1) + '…' : name;
// lastOf returns the last point of a line that is shown.
function lastOf(s, xhi) {
  for (let k = s.x.length - 1; k >= 0; k--) if (s.y[k] != null && s.x[k] != null && (s.x[k] <= xhi * (1 + 1e-9) || k === 0)) return [s.x[k], s.y[k]];
  return null;
}
// nearest returns the value of a line at x: of the last step, or of the closest point.
function nearest(s, x, steps) {
  let lo = 0, hi = s.x.length;
  while (lo < hi) { const m = (lo + hi) >> 1; if (s.x[m] <= x) lo = m + 1; else hi = m; }
  if (steps) return lo ? s.y[lo - 1] : 0;
  if (lo === 0) return s.y[0];
  if (lo === s.x.length) return s.y[lo - 1];
  return x - s.x[lo - 1] < s.x[lo] - x ? s.y[lo - 1] : s.y[lo];
}
document.querySelectorAll('figure[data-plot]').forEach(figure => {
  const p = data.plots.find(p => p.id === figure.dataset.plot);
  let tail = false;
  const later = plot(figure, p.id, () => tail ? tailOf(p) : p);
  if (!p.tail) return;
  const b = document.createElement('button');
  b.type = 'button'; b.className = 'tail'; b.textContent = 'the slowest'; b.setAttribute('aria-pressed', 'false');
  b.setAttribute('aria-label', 'Show the slowest jobs in ' + p.title);
  b.addEventListener('click', () => { tail = !tail; b.setAttribute('aria-pressed', String(tail)); later(); });
  figure.querySelector('.files').prepend(b);
});
