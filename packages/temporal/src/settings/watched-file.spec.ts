import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileMistakesError } from './lined-file.js';
import { WatchedFile } from './watched-file.js';

let folder: string;
let path: string;
let file: WatchedFile<number> | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tillflow-watched-'));
  path = join(folder, 'number');
  await writeFile(path, '1\n');
});
afterEach(async () => {
  file?.close();
  await rm(folder, { recursive: true });
});

/** A file that contains one number. */
function parse(text: string): number {
  if (/^\d+\n$/.test(text)) return Number(text);
  throw new FileMistakesError([{ line: 1, text: 'is no number' }]);
}

function watched() {
  const listener = { changed: vi.fn<() => void>(), refused: vi.fn<() => void>() };
  file = new WatchedFile(path, parse);
  file.watch(listener);
  return { file, ...listener };
}

describe('a settings file', () => {
  it('is in force as soon as it was replaced', async () => {
    const { file: one, changed } = watched();
    expect(one.content).toBe(1);
    await writeFile(`${path}.new`, '2\n');
    await rename(`${path}.new`, path);
    await vi.waitUntil(() => one.content === 2, 10_000);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it('is in force as soon as Kubernetes has replaced its Secret: the file is a link, and so is the folder that it leads to', async () => {
    const secretOf = async (version: string, text: string): Promise<void> => {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'number'), text);
      await symlink(version, join(folder, '..data_new'));
      await rename(join(folder, '..data_new'), join(folder, '..data'));
    };
    await secretOf('version-1', '1\n');
    await rm(path);
    await symlink('..data/number', path);
    const { file: one, changed, refused } = watched();
    await secretOf('version-2', '2\n');
    await rm(join(folder, 'version-1'), { recursive: true });
    await vi.waitUntil(() => one.content === 2, 10_000);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(refused).not.toHaveBeenCalled();
  });

  it('changes nothing while it is wrong or missing, and says so once for each mistake', async () => {
    const { file: one, changed, refused } = watched();
    await writeFile(path, 'x\n');
    await vi.waitUntil(() => one.mistakes.length > 0, 10_000);
    expect(one.content).toBe(1);
    await rm(path);
    await vi.waitUntil(() => one.mistakes[0]?.text === 'the file cannot be read (ENOENT)', 10_000);
    expect(one.content).toBe(1);
    expect(refused).toHaveBeenCalledTimes(2);
    await writeFile(path, '3\n');
    await vi.waitUntil(() => one.content === 3, 10_000);
    expect(one.mistakes).toEqual([]);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it('that was written in place is read once it stays the same for two seconds', async () => {
    const { file: one } = watched();
    await writeFile(path, '4\n');
    const began = performance.now();
    await vi.waitUntil(() => one.content === 4, 10_000);
    expect(performance.now() - began).toBeGreaterThan(1_500);
  });

  it('is read again after a failure that no mistake of the file caused', async () => {
    let fails = true;
    const listener = { changed: vi.fn<() => void>(), refused: vi.fn<() => void>() };
    file = new WatchedFile(path, (text) => {
      if (fails && text !== '1\n') throw new TypeError('no one expected this');
      return parse(text);
    });
    file.watch(listener);
    await writeFile(`${path}.new`, '2\n');
    await rename(`${path}.new`, path);
    await vi.waitUntil(() => listener.refused.mock.calls.length > 0, 10_000);
    expect(file.content).toBe(1);
    fails = false;
    await vi.waitUntil(() => file?.content === 2, 10_000);
    expect(listener.refused).toHaveBeenCalledTimes(1);
  });

  it('that is wrong at the start is refused', async () => {
    await writeFile(path, 'x');
    expect(() => new WatchedFile(path, parse)).toThrow('line 1: is no number');
    expect(() => new WatchedFile(`${path}.missing`, parse)).toThrow('the file cannot be read (ENOENT)');
  });
});
