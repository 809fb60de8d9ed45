import type { Page } from '@tillflow/browser';
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

/** Runs in a page: the pixels of a PNG, four bytes each, in base64. */
const DECODE = `async (png) => {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0))]));
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  const bytes = context.getImageData(0, 0, width, height).data;
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { width, height, pixels: btoa(text) };
}`;

/** Reads the code out of a picture of a screen. @param blank a page that may decode pictures: it has no policy */
export async function scanPicture(blank: Page, png: Buffer): Promise<string | undefined> {
  const { width, height, pixels } = await blank.evaluate<{ width: number; height: number; pixels: string }>(
    `(${DECODE})('${png.toString('base64')}')`,
  );
  return jsqr.default(new Uint8ClampedArray(Buffer.from(pixels, 'base64')), width, height)?.data;
}
