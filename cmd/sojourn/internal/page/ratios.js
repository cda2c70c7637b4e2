(() => {
  const r = data.ratios;
  if (!r) return;
  const n = r.policies.length, chosen = document.getElementById('baseline');
  const base = () => +chosen.value;
  // ratio returns that of a policy to the baseline, and its interval.
  function ratio(row, i) {
    const v = row.values[i] / row.values[base()], half = row.half[i * n + base()];
    return Number.isFinite(v) && v > 0 && row.values[i] != null ? [v, half == null ? null : v * Math.exp(-half), half == null ? null : v * Math.exp(half)] : [null, null, null];
  }
  const tied = ([v, low, high]) => low != null && low <= 1 && high >= 1;
  const least = row => { let best = -1; row.values.forEach((v, i) => { if (v != null && (best < 0 || v < row.values[best])) best = i; }); return best; };
  const order = r.policies.map((_, i) => i).sort((a, b) => r.grids[0].rows[0].values[a] - r.grids[0].rows[0].values[b]);
  const text = v => v == null ? '–' : v < 9.95 ? v.toFixed(2) : digits(v);
  const rows = g => [[g.over ? 'group' : 'number', 'policy', 'value', 'ratio to ' + r.policies[base()], 'low', 'high', 'told apart'], ...g.rows.flatMap(row => order.map(i => { const a = ratio(row, i); return [row.name, r.policies[i], row.values[i], ...a, i === base() ? 'baseline' : a[1] == null ? 'unknown' : tied(a) ? 'no' : 'yes']; }))];

  // grid draws a column for each number, and in it a line for each policy.
  function grid(figure, g) {
    const line = 21, head = 22, foot = 34;
    const names = w => { const c = Svg.ruler; c.font = font(); return Math.min(w / 3, Math.max(...r.policies.map(p => c.measureText(short(p, 24)).width)) + 16); };
    const columns = w => Math.max(1, Math.min(g.rows.length, Math.floor((w - names(w)) / 190)));
    function draw(c, w, h) {
      const K = columns(w), L = names(w), side = 62, W = (w - L) / K, all = g.rows.flatMap(row => order.flatMap(i => i === base() ? [] : ratio(row, i))).filter(v => v > 0);
      const lo = Math.max(.1, Math.min(.8, ...all) / 1.05), hi = Math.min(10, Math.max(1.25, ...all) * 1.05); // what is beyond stands at the edge
      g.rows.forEach((row, k) => {
        const left = L + (k % K) * W, y0 = Math.floor(k / K) * (head + n * line + foot), inner = W - side - 24, top = y0 + head, bottom = top + n * line;
        const X = v => left + 6 + inner * Math.min(1, Math.max(0, (Math.log(v) - Math.log(lo)) / (Math.log(hi) - Math.log(lo))));
        c.font = 'bold ' + font(12.5); c.fillStyle = css('--ink'); c.textAlign = 'left'; c.textBaseline = 'middle';
        c.fillText(row.name, left + 2, y0 + 11, W - 8);
        c.font = font(); c.lineWidth = 1; c.setLineDash([]);
        c.textAlign = 'center'; c.textBaseline = 'top';
        let free = -Infinity;
        for (const v of [.1, .2, .5, .7, 1, 1.5, 2, 3, 5, 10]) {
          if (v < lo || v > hi) continue;
          const x = X(v), half = c.measureText(String(v)).width / 2;
          c.strokeStyle = css(v === 1 ? '--ink' : '--line'); c.beginPath(); c.moveTo(x, top); c.lineTo(x, bottom + 3); c.stroke();
          if (v === 1 || (x - half > free && (Math.abs(x - X(1)) > half + c.measureText('1').width))) { c.fillStyle = css('--soft'); c.fillText(String(v), x, bottom + 6); free = x + half + 4; }
        }
        order.forEach((i, at) => {
          const y = top + (at + .5) * line, a = ratio(row, i);
          c.textBaseline = 'middle'; c.fillStyle = css('--ink');
          if (k % K === 0) { c.textAlign = 'right'; c.font = (isBold(r.policies[i]) ? 'bold ' : '') + font(); c.fillText(short(r.policies[i], 24), L - 8, y, L - 10); c.font = font(); }
          c.textAlign = 'right';
          c.fillText((i === least(row) ? '* ' : '') + (i === base() ? 'baseline' : text(a[0]) + (tied(a) ? ' ~' : '')), left + W - 18, y, side);
          if (i === base() || a[0] == null) return;
          c.strokeStyle = c.fillStyle = colourOf(r.policies[i]);
          if (a[1] != null) { c.lineWidth = 2.5; c.beginPath(); c.moveTo(X(a[1]), y); c.lineTo(X(a[2]), y); c.stroke(); }
          c.beginPath(); c.arc(X(a[0]), y, 4.5, 0, 7); c.fill();
          if (tied(a)) { c.fillStyle = css('--card'); c.beginPath(); c.arc(X(a[0]), y, 2.5, 0, 7); c.fill(); }
        });
      });
      c.font = font(); c.fillStyle = css('--soft'); c.textAlign = 'center'; c.textBaseline = 'bottom';
      c.fillText('times that under ' + short(r.policies[base()], 40), w / 2, h - 2, w - 4);
    }
    return picture(figure, g.id, { height: w => Math.ceil(g.rows.length / columns(w)) * (head + n * line + foot) + 8, draw, rows: () => rows(g) });
  }
  // over draws lines over the rows.
  const over = (figure, g) => plot(figure, g.id, () => ({
    x: { label: g.over, scale: 'count', names: g.rows.map(row => row.name) }, y: { label: 'ratio to ' + short(r.policies[base()], 20), unit: '', scale: 'log' }, one: true,
    series: order.map(i => { const all = g.rows.map(row => ratio(row, i)); return { name: r.policies[i], x: all.map((_, k) => k), y: all.map(a => a[0]), low: all.map(a => a[1] ?? a[0]), high: all.map(a => a[2] ?? a[0]) }; }),
  }));
  const drawn = [...document.querySelectorAll('figure[data-grid]')].map(figure => { const g = r.grids.find(g => g.id === figure.dataset.grid); return (g.over ? over : grid)(figure, g); });
  chosen.addEventListener('change', () => { data.bold = [r.policies[order[0]], r.policies[base()]]; redraws.forEach(f => f()); });
})();
