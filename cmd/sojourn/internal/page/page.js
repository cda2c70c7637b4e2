'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const redraws = [];
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const dark = () => root.dataset.theme === 'dark';
function setTheme(name) { root.dataset.theme = name; redraws.forEach(f => f()); }
const wished = matchMedia('(prefers-color-scheme: dark)');
setTheme(wished.matches ? 'dark' : 'light');
wished.addEventListener('change', e => setTheme(e.matches ? 'dark' : 'light'));
document.getElementById('theme').addEventListener('click', () => setTheme(dark() ? 'light' : 'dark'));
let before = null;
addEventListener('beforeprint', () => { before = root.dataset.theme; setTheme('light'); });
addEventListener('afterprint', () => setTheme(before || 'light'));

// Colours that people with any colour vision tell apart, in the light and in the dark; beyond
// eight, lines are dashed, too.
const light8 = ['#0072b2', '#d55e00', '#009e73', '#b0398a', '#8a6d00', '#4b4bc8', '#7a4a21', '#4f5a66'];
const dark8 = ['#56b4e9', '#ff9248', '#3fd0a4', '#f08ccc', '#e5cf4a', '#a3a3ff', '#d7a67a', '#b4bfcb'];
const colourOf = i => (dark() ? dark8 : light8)[i % 8];
const dashOf = i => [[], [7, 4], [2, 3], [9, 3, 2, 3]][Math.floor(i / 8) % 4];

// Text of numbers.
function digits(v, n) {
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a >= 1e6) return v.toExponential(1);
  return String(+v.toPrecision(n ?? 3)).replace(/^(-?)(\d{4,})/, (_, s, d) => s + d.replace(/\B(?=(\d{3})+$)/g, ','));
}
function duration(s) {
  if (s == null || Number.isNaN(s)) return 'unknown';
  const sign = s < 0 ? '−' : ''; s = Math.abs(s);
  if (s < 1e-3 && s > 0) return sign + digits(s * 1e6) + ' µs';
  if (s < 1 && s > 0) return sign + digits(s * 1e3) + ' ms';
  if (s < 120) return sign + digits(s) + ' s';
  if (s < 7200) { const m = Math.floor(s / 60), r = Math.round(s - 60 * m); return sign + (r === 60 ? m + 1 + ' min' : m + ' min' + (r ? ' ' + r + ' s' : '')); }
  if (s < 48 * 3600) { const m = Math.round(s / 60); return sign + Math.floor(m / 60) + ' h' + (m % 60 ? ' ' + m % 60 + ' min' : ''); }
  return sign + digits(s / 86400) + ' days';
}
function value(v, axis) {
  if (v == null) return '–';
  if (axis.scale === 'names') return axis.names[Math.round(v)];
  if (axis.unit === 's') return duration(v);
  if (axis.unit === '%') return digits(100 * v) + ' %';
  return digits(v) + (axis.unit ? ' ' + axis.unit : '');
}

// Scales. A scale has ticks: [place in 0..1, label].
const symlog = v => Math.sign(v) * Math.log10(1 + Math.abs(v));
const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']];
// unitOf returns the unit for numbers up to most, in which a step is no less than a quarter.
function unitOf(most, step) {
  let i = units.findIndex(u => most >= 2 * u[0]);
  if (i < 0) i = units.length - 1;
  while (i + 1 < units.length && step < .2499 * units[i][0] && most < 1e5 * units[i + 1][0]) i++;
  return units[i];
}
const timeSteps = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
// linearTicks returns the values of ticks, and the step between them.
function linearTicks(lo, hi, unit, most) {
  const span = hi - lo || 1;
  let step;
  if (unit === 's') step = timeSteps.find(s => span / s <= most);
  if (!step) { const base = unit === 's' ? 86400 : 1; const p = 10 ** Math.floor(Math.log10(span / most / base)); step = base * p * ([1, 2, 5, 10].find(k => span / (k * p * base) <= most) ?? 10); }
  const list = [];
  for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + step * 1e-9; k++) list.push(k * step);
  return [list, step];
}
// A margin is the share of the length that stays free at both ends.
function scaleOf(axis, lo, hi, length, room, margin = 0) {
  if (axis.scale === 'names') {
    const n = axis.names.length;
    return { at: v => (v + .5) / n, back: p => Math.min(n - 1, Math.max(0, Math.floor(p * n))), ticks: axis.names.map((t, i) => [(i + .5) / n, t]), unit: '' };
  }
  if (!(hi > lo)) { hi = lo > 0 ? lo * 1.5 : lo + 1; lo = lo > 0 ? lo / 1.5 : lo - 1; }
  const f = axis.scale === 'log' ? Math.log10 : axis.scale === 'symlog' ? symlog : v => v;
  const g = axis.scale === 'log' ? v => 10 ** v : axis.scale === 'symlog' ? v => Math.sign(v) * (10 ** Math.abs(v) - 1) : v => v;
  const wide = margin * (f(hi) - f(lo)) / (1 - 2 * margin), a = f(lo) - wide, b = f(hi) + wide;
  if (wide) [lo, hi] = [g(a), g(b)];
  const at = v => (f(v) - a) / (b - a), most = Math.max(2, Math.floor(length / room));
  let values, label = v => digits(v), unit = axis.unit ?? '';
  if (axis.scale === 'log') {
    const times = axis.unit === 's' ? [1e-6, 1e-5, 1e-4, 1e-3, .01, .1, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10800, 36000, 86400, 259200, 864000, 2592000] : [];
    values = times.filter(v => v >= lo * .999 && v <= hi * 1.001);
    if (values.length < 2) for (const steps of [[1], [1, 3], [1, 2, 5], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]]) {
      values = [];
      for (let e = Math.floor(a); e <= b; e++) for (const k of steps) { const v = k * 10 ** e; if (v >= lo * .999 && v <= hi * 1.001) values.push(v); }
      if (values.length >= 3) break;
    }
    if (axis.unit === 's') label = duration;
  } else if (axis.scale === 'symlog') {
    values = [0];
    for (const v of [1, 10, 60, 600, 3600, 21600, 86400, 864000]) { if (v <= hi) values.push(v); if (-v >= lo) values.unshift(-v); }
    values = values.filter(v => v >= lo && v <= hi);
    label = v => v === 0 ? '0' : (v > 0 ? '+' : '') + duration(v);
  } else {
    let step;
    [values, step] = linearTicks(lo, hi, axis.unit, most);
    if (axis.unit === 's') { const u = unitOf(Math.max(Math.abs(lo), Math.abs(hi)), step); unit = u[1]; label = v => digits(v / u[0], 6); }
    if (axis.unit === '%') { label = v => digits(100 * v); }
  }
  if (axis.scale && axis.unit === 's') unit = '';
  while (values.length > most) { const zero = Math.max(0, values.indexOf(0)); values = values.filter((_, i) => (i - zero) % 2 === 0); }
  return { at, back: p => g(a + p * (b - a)), ticks: values.map(v => [at(v), label(v)]), unit };
}

// fit gives a canvas as many pixels as it has on the screen.
function fit(canvas) {
  const r = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) { canvas.width = Math.round(w * r); canvas.height = Math.round(h * r); }
  const c = canvas.getContext('2d');
  c.setTransform(r, 0, 0, r, 0, 0);
  c.clearRect(0, 0, w, h);
  return [c, w, h];
}
const font = (size = 12) => size + 'px ' + getComputedStyle(document.body).fontFamily;

function extent(series, keys) {
  let lo = Infinity, hi = -Infinity;
  for (const s of series) for (const k of keys) for (const v of s[k] ?? []) if (v != null) { if (v < lo) lo = v; if (v > hi) hi = v; }
  return [lo, hi];
}

function plot(figure) {
  const p = data.plots.find(p => p.id === figure.dataset.plot), canvas = figure.querySelector('canvas'), legend = figure.querySelector('.legend'), readout = figure.querySelector('.readout');
  const hidden = new Set();
  let pointer = null, frame = null;
  p.series.forEach((s, i) => {
    const b = document.createElement('button'), swatch = document.createElement('i');
    b.type = 'button'; b.setAttribute('aria-pressed', 'true');
    b.append(swatch, s.name);
    b.addEventListener('click', () => { hidden.has(i) ? hidden.delete(i) : hidden.add(i); b.setAttribute('aria-pressed', String(!hidden.has(i))); draw(); });
    legend.append(b);
  });
  const [xlo, xhi] = extent(p.series, ['x']);
  let [ylo, yhi] = extent(p.series, ['y', 'low', 'high']);
  if (p.y.scale !== 'log') { ylo = Math.min(0, ylo); yhi = p.y.unit === '%' && yhi <= 1 ? 1 : yhi * 1.05; } else { ylo /= 1.1; yhi *= 1.1; }
  function draw() {
    legend.querySelectorAll('i').forEach((el, i) => { el.style.background = colourOf(i); });
    const [c, w, h] = fit(canvas);
    if (!w) return;
    const ys = scaleOf(p.y, ylo, yhi, h - 66, 34);
    c.font = font();
    const left = Math.max(...ys.ticks.map(t => c.measureText(t[1]).width)) + 34, right = 14, top = 10, bottom = 46;
    const W = w - left - right, H = h - top - bottom;
    const xs = scaleOf(p.x, xlo, xhi, W, 74, p.steps && !p.x.scale ? 0 : .03); // lines over time fill their plot
    const X = v => left + W * xs.at(v), Y = v => top + H * (1 - ys.at(v));
    c.strokeStyle = css('--line'); c.fillStyle = css('--soft'); c.lineWidth = 1;
    c.textAlign = 'center'; c.textBaseline = 'top';
    for (const [at, label] of xs.ticks) {
      const x = left + W * at;
      c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + H + 4); c.stroke();
      const half = c.measureText(label).width / 2;
      c.fillText(label, Math.min(Math.max(x, half + 2), w - half - 2), top + H + 7);
    }
    c.textAlign = 'right'; c.textBaseline = 'middle';
    for (const [at, label] of ys.ticks) { const y = top + H * (1 - at); c.beginPath(); c.moveTo(left - 4, y); c.lineTo(left + W, y); c.stroke(); c.fillText(label, left - 8, y); }
    const name = (axis, unit) => axis.label + (unit ? ' (' + unit + ')' : '');
    c.fillStyle = css('--ink'); c.textAlign = 'center'; c.textBaseline = 'bottom';
    const half = Math.min(c.measureText(name(p.x, xs.unit)).width, w - 4) / 2;
    c.fillText(name(p.x, xs.unit), Math.max(half + 2, Math.min(left + W / 2, w - half - 2)), h - 4, w - 4);
    c.save(); c.translate(13, top + H / 2); c.rotate(-Math.PI / 2); c.textBaseline = 'middle'; c.fillText(name(p.y, ys.unit), 0, 0); c.restore();
    if (p.x.scale === 'symlog' && X(0) >= left && X(0) <= left + W) { c.strokeStyle = css('--ink'); c.beginPath(); c.moveTo(X(0), top); c.lineTo(X(0), top + H); c.stroke(); }
    c.save(); c.beginPath(); c.rect(left, top - 2, W, H + 4); c.clip();
    p.series.map((s, i) => [s, i]).reverse().forEach(([s, i]) => { // the first one on top
      if (hidden.has(i)) return;
      c.strokeStyle = c.fillStyle = colourOf(i); c.setLineDash(dashOf(i)); c.lineWidth = 2;
      if (s.low && s.high && p.x.scale !== 'names') {
        c.globalAlpha = .18; c.beginPath();
        s.x.forEach((x, k) => { if (s.low[k] != null) c.lineTo(X(x), Y(s.low[k])); });
        for (let k = s.x.length - 1; k >= 0; k--) if (s.high[k] != null) c.lineTo(X(s.x[k]), Y(s.high[k]));
        c.fill(); c.globalAlpha = 1;
      }
      if (p.x.scale === 'names') { // points with whiskers
        s.x.forEach((x, k) => {
          if (s.y[k] == null) return;
          const px = X(x) + (i - (p.series.length - 1) / 2) * 7;
          if (s.low) { c.lineWidth = 2; c.beginPath(); c.moveTo(px, Y(s.low[k])); c.lineTo(px, Y(s.high[k])); c.stroke(); }
          c.beginPath(); c.arc(px, Y(s.y[k]), 4, 0, 7); c.fill();
        });
        return;
      }
      c.beginPath();
      let last = null; // an ECDF begins at 0
      s.x.forEach((x, k) => {
        if (s.y[k] == null || x == null) { last = null; return; }
        const px = X(x), py = Y(s.y[k]);
        if (last === null) { c.moveTo(px, p.steps && p.x.scale ? Y(0) : py); c.lineTo(px, py); } else { if (p.steps) c.lineTo(px, last); c.lineTo(px, py); }
        last = py;
      });
      c.stroke();
      if (s.x.length < 30 && !p.steps) s.x.forEach((x, k) => { if (s.y[k] != null) { c.beginPath(); c.arc(X(x), Y(s.y[k]), 3.5, 0, 7); c.fill(); } });
    });
    c.restore(); c.setLineDash([]);
    readout.textContent = '';
    if (pointer !== null && W > 0) {
      const x = xs.back(Math.min(1, Math.max(0, (pointer - left) / W)));
      c.strokeStyle = css('--ink'); c.globalAlpha = .5; c.beginPath(); c.moveTo(X(x), top); c.lineTo(X(x), top + H); c.stroke(); c.globalAlpha = 1;
      const parts = p.series.map((s, i) => hidden.has(i) ? null : s.name + ' ' + value(nearest(s, x, p.steps), p.y)).filter(t => t);
      readout.textContent = p.x.label + ' ' + value(x, p.x) + ': ' + parts.join(', ');
    }
  }
  const later = () => { frame ??= requestAnimationFrame(() => { frame = null; draw(); }); };
  canvas.addEventListener('pointermove', e => { pointer = e.offsetX; later(); });
  canvas.addEventListener('pointerleave', () => { pointer = null; later(); });
  canvas.addEventListener('keydown', e => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (by) { pointer = Math.min(canvas.clientWidth, Math.max(0, (pointer ?? canvas.clientWidth / 2) + by * 12)); later(); e.preventDefault(); }
  });
  canvas.addEventListener('blur', () => { pointer = null; later(); });
  redraws.push(draw);
  new ResizeObserver(later).observe(canvas);
  draw();
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
document.querySelectorAll('.plot').forEach(plot);

// Tables.
document.querySelectorAll('table.sortable').forEach(table => {
  const body = table.tBodies[0];
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
});
