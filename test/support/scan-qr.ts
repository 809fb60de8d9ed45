import jsqr from 'jsqr';

/** Reads the code back out of an SVG of squares, as a wallet's camera would. */
export function scanQr(svg: string): string | undefined {
  const size = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255);
  for (const [, left, top, width, height] of svg.matchAll(/M(\d+),(\d+)h(\d+)v(\d+)h-\d+z/g)) {
    for (let y = Number(top); y < Number(top) + Number(height); y += 1) {
      for (let x = Number(left); x < Number(left) + Number(width); x += 1)
        pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  return jsqr.default(pixels, size, size)?.data;
}
