/** Loaded into a program before it starts. Prints the packages of OpenTelemetry that the program has loaded when it exits. */
import { writeSync } from 'node:fs';
import { createRequire } from 'node:module';

const { cache } = createRequire(import.meta.url);

process.on('exit', () => {
  const packages = Object.keys(cache).flatMap((path) => /@opentelemetry\/([a-z-]+)/.exec(path)?.[1] ?? []);
  writeSync(1, `loaded ${JSON.stringify([...new Set(packages)])}\n`);
});
