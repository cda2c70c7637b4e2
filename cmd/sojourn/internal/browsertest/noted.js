// canvas.noted lists the texts that are drawn on a canvas since it was last cleared: what, and the box around it in
// pixels of the page, from the upper left corner of the canvas.
addEventListener('error', () => { window.failed = true; });
(() => {
  const proto = CanvasRenderingContext2D.prototype, clearRect = proto.clearRect, fillText = proto.fillText;
  proto.clearRect = function (...a) { this.canvas.noted = []; this.canvas.draws = (this.canvas.draws ?? 0) + 1; return clearRect.apply(this, a); };
  proto.fillText = function (text, x, y, ...rest) {
    const m = this.measureText(text), t = this.getTransform(), r = window.devicePixelRatio || 1;
    const k = Math.min(1, (rest[0] ?? Infinity) / m.width); // a text that is wider than allowed is made narrower
    const corners = [[-m.actualBoundingBoxLeft * k, -m.actualBoundingBoxAscent], [m.actualBoundingBoxRight * k, m.actualBoundingBoxDescent]]
      .map(([dx, dy]) => t.transformPoint(new DOMPoint(x + dx, y + dy)));
    const at = t.transformPoint(new DOMPoint(x, y)), xs = corners.map(c => c.x / r), ys = corners.map(c => c.y / r);
    (this.canvas.noted ??= []).push({
      Text: String(text), X: at.x / r, Y: at.y / r, Upright: t.b === 0, Ink: this.fillStyle,
      Left: Math.min(...xs), Right: Math.max(...xs), Top: Math.min(...ys), Bottom: Math.max(...ys),
    });
    return fillText.call(this, text, x, y, ...rest);
  };
})();
// window.usable is when the page said that it is ready, in milliseconds since it was asked for.
new MutationObserver((_, seen) => {
  if (document.documentElement?.dataset.ready) { window.usable = performance.now(); seen.disconnect(); }
}).observe(document, {attributes: true, subtree: true, attributeFilter: ['data-ready']});
