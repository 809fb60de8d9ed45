import { join } from 'node:path';
import { rolldown, type RolldownOutput } from 'rolldown';

/** A program with its modules in one file. */
export type Bundle = {
  readonly code: string;
  /** The modules of which code is left in the file, by their paths with forward slashes. */
  readonly modules: readonly string[];
};

/** @param folder contains the program's `main.ts` and its `node_modules`. */
export async function bundle(
  folder: string,
  { platform, minify = false }: { readonly platform: 'node' | 'browser'; readonly minify?: boolean },
): Promise<Bundle> {
  const build = await rolldown({ input: join(folder, 'main.ts'), platform, cwd: folder });
  const { output }: RolldownOutput = await build.generate({ format: 'esm', minify });
  await build.close();
  const [chunk, ...others] = output;
  if (others.length > 0) throw new Error(`The bundle has ${others.length} further files`);
  const modules = Object.entries(chunk.modules).filter(([, { renderedLength }]) => renderedLength > 0);
  return { code: chunk.code, modules: modules.map(([id]) => id.replaceAll('\\', '/')) };
}
