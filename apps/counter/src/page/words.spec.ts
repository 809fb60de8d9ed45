import { describe, expect, it } from 'vitest';
import { fill, languageOf, WORDS } from './words.js';

type Texts = { readonly [name: string]: string | Texts };

/** Each text with its path and the values that it needs. */
function valuesOf(texts: Texts, path = ''): string[] {
  return Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string'
      ? [`${path}${name}: ${text === '' ? 'empty' : [...text.matchAll(/\{\w+\}/g)].map(String).toSorted().join(' ')}`]
      : valuesOf(text, `${path}${name}.`),
  );
}

describe('the words of the counter', () => {
  it.each(Object.entries(WORDS))('in %s name the same texts with the same values as in English', (_, words) => {
    expect(valuesOf(words as unknown as Texts)).toEqual(valuesOf(WORDS.en as unknown as Texts));
  });
});

describe('languageOf', () => {
  it.each([
    [['th-TH', 'en'], 'th'],
    [['fr', 'ms-MY'], 'ms'],
    [['zh-CN'], 'zh-Hans'],
    [['zh'], 'zh-Hans'],
    [['de', 'fr'], 'en'],
    [[], 'en'],
  ])('chooses of %j the first language that the page has', (wanted, language) => {
    expect(languageOf(wanted)).toBe(language);
  });
});

describe('fill', () => {
  it('puts values into a text, and nothing where there is none', () => {
    expect(fill('From {minimum} to {maximum}', { minimum: 1 })).toBe('From 1 to ');
  });
});
