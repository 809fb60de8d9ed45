import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ACCESSIBILITY_PROBLEMS, type Page } from '@tillflow/browser';
import axe from 'axe-core';
import { expect } from 'vitest';
import { PHONE } from './counter.js';
import { isFull } from './full.js';

const LANDSCAPE = { width: 1_180, height: 820 };
const MONITOR = { width: 1_280, height: 720 };

/** What a page is looked at on. */
const DEVICES = {
  till: { phone: PHONE, tablet: LANDSCAPE },
  display: { phone: PHONE, tablet: LANDSCAPE, monitor: MONITOR },
} as const;

/** Where the tests leave their pictures, and a page that shows all of them. */
const PICTURES = fileURLToPath(new URL('../../node_modules/.cache/tillflow/counter/', import.meta.url));

/** What a finger hits. Source: WCAG 2.2, 2.5.5. CSS pixels. */
const TARGET_PX = 44;

/** Runs in a page: what a finger misses. */
const SMALL_TARGETS = `[...document.querySelectorAll('button, a, select, input')].flatMap((target) => {
  const { width, height } = target.getBoundingClientRect();
  const isShown = width > 0 && height > 0;
  return isShown && Math.min(width, height) < ${TARGET_PX} ? [width + ' x ' + height + ': ' + target.outerHTML.slice(0, 120)] : [];
})`;

/** Runs in a page: amounts, titles and buttons with a word that goes on in the next line. Amounts have no other spaces. */
const BROKEN_WORDS = `[...document.querySelectorAll('h1, .amount, button')].flatMap((element) => {
  const texts = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
  return texts.flatMap((text) => [...text.data.matchAll(/[^ ]+/g)].flatMap(({ 0: word, index }) => {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
    return lines.size > 1 ? ['broken: ' + word] : [];
  }));
})`;

/** Runs in a page: what moves. */
export const MOVING = `document.getAnimations().flatMap(({ playState, effect }) =>
  playState === 'running' ? ['moves: ' + effect.target.outerHTML.slice(0, 120)] : [])`;

type AxeResult = { readonly violations: readonly { id: string; nodes: { html: string }[] }[] };

/** What keeps a person from using the page. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  return [...(await axeProblems(page)), ...(await page.evaluate<string[]>(ACCESSIBILITY_PROBLEMS))];
}

async function axeProblems(page: Page): Promise<string[]> {
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResult>('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/**
 * Finds nothing on any device, in light and dark, that keeps a person from using the page: not the contrast, nor the size
 * of what a finger hits, nor a broken word, nor a movement that the person does not want. `pnpm test:full` takes pictures.
 */
export async function expectUsable(page: Page, side: keyof typeof DEVICES, name: string): Promise<void> {
  const file = name.replaceAll(/\W+/g, '-');
  // A new screen takes no taps for a moment.
  await page.locator('body:not(:has([inert]))').waitFor();
  for (const [at, [device, size]] of Object.entries(DEVICES[side]).entries()) {
    await page.setViewportSize(size);
    for (const [scheme, colorScheme] of (['light', 'dark'] as const).entries()) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const picture = `${file}-${side}-${device}-${colorScheme}.png`;
      if (isFull) await page.screenshot({ path: PICTURES + picture });
      const problems = await page.evaluate<string[]>(ACCESSIBILITY_PROBLEMS);
      // The problems so far include the contrast of each pair. What else axe looks for depends on one of the two.
      if (at % 2 === scheme) problems.push(...(await axeProblems(page)));
      if (side === 'till') problems.push(...(await page.evaluate<string[]>(SMALL_TARGETS)));
      for (const each of [BROKEN_WORDS, MOVING]) problems.push(...(await page.evaluate<string[]>(each)));
      expect({ picture, problems }).toEqual({ picture, problems: [] });
    }
  }
}

/** Writes the page that shows all pictures. */
export async function listPictures(): Promise<void> {
  await mkdir(PICTURES, { recursive: true });
  const names = (await readdir(PICTURES)).filter((name) => name.endsWith('.png')).toSorted();
  const figures = names.map(
    (name) => `<figure><a href="${name}"><img src="${name}" height="320"></a><figcaption>${name}</figcaption></figure>`,
  );
  const style = '<style>body { display: flex; flex-wrap: wrap; font: 14px sans-serif; background: #8a94a0 }</style>';
  await writeFile(`${PICTURES}index.html`, `<!doctype html><title>The counter</title>${style}${figures.join('\n')}`);
}
