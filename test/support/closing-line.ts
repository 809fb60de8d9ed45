import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

/** Names what was skipped and why, and closes the run with one plain line that scripts can read. */
export class ClosingLine implements Reporter {
  /** Options of the command line, which leave tests out on purpose. */
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined || (config.tagsFilter ?? []).length > 0;
  }

  /** A test that was left out on purpose counts as not chosen. Any other test that did not run counts as skipped. */
  #isChosen({ tags }: TestCase): boolean {
    return !this.#isFiltered && !tags.includes('full');
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    const skipped: string[] = [];
    let leftOut = 0;
    for (const module of modules) {
      let tests = 0;
      for (const test of module.children.allTests()) {
        tests += 1;
        const result = test.result();
        if (result.state === 'skipped' && !this.#isChosen(test)) {
          leftOut += 1;
          continue;
        }
        count[result.state === 'pending' ? 'skipped' : result.state] += 1;
        if (result.state === 'skipped') skipped.push(`${test.fullName}: ${result.note ?? 'no reason given'}`);
      }
      // A file that could not be loaded has no tests, and counts as a failure.
      if (tests === 0 || (module.state() === 'failed' && module.errors().length > 0)) count.failed += 1;
    }
    for (const line of skipped) process.stdout.write(`skipped: ${line}\n`);
    if (leftOut > 0) process.stdout.write(`not chosen: ${leftOut} (\`pnpm test:full\` runs every test)\n`);
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
