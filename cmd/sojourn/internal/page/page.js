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

// Colours that people with any colour vision tell apart, in the light and in the dark.
const light8 = ['#0072b2', '#d55e00', '#009e73', '#b0398a', '#8a6d00', '#4b4bc8', '#7a4a21', '#4f5a66'];
const dark8 = ['#56b4e9', '#ff9248', '#3fd0a4', '#f08ccc', '#e5cf4a', '#a3a3ff', '#d7a67a', '#b4bfcb'];
// styleOf says how a policy is drawn: the same in all reports, whichever others are there, unless two of one page would look alike.
const known = ['default', 'fifo', 'fair', 'las', 'srpt', 'fsp', 'pfsp', 'hfsp'], styles = new Map();
function styleOf(name) {
  if (!styles.has(name)) {
    let hash = 2166136261;
    for (const ch of name) hash = Math.imul(hash ^ ch.codePointAt(0), 16777619) >>> 0;
    const base = known.indexOf(name.split(/[: ]/)[0]);
    let style = known.includes(name) ? base : (base >= 0 ? base : hash % 8) + 8 * (1 + hash % 3);
    for (let n = 0; n < 32 && [...styles.values()].includes(style); n++) style = (style + 8) % 32;
    styles.set(name, style);
  }
  return styles.get(name);
}
const colourOf = name => (dark() ? dark8 : light8)[styleOf(name) % 8];
const dashOf = name => [[], [7, 4], [2, 3], [9, 3, 2, 3]][Math.floor(styleOf(name) / 8)];
const isBold = name => !data.bold?.length || data.bold.includes(name);

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
  if (axis.scale === 'names' || axis.scale === 'count') return axis.names[Math.round(v)];
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
  if (axis.scale === 'count') {
    const n = axis.names.length;
    return { at: v => (v + .5) / n, back: p => Math.min(n - 1, Math.max(0, Math.floor(p * n))), ticks: axis.names.map((_, i) => [(i + .5) / n, String(i + 1)]), unit: '' };
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
    if (axis.unit === '%') label = v => digits(100 * v);
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

