import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Says what was skipped and why, and closes the run with one plain line that scripts can read. */
export class ClosingLine implements Reporter {
  /** Tests left out by `-t` were not skipped by the suite. */
  #chosenByName = false;

  onInit(vitest: Vitest): void {
    this.#chosenByName = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    const skipped: string[] = [];
    for (const module of modules) {
      let tests = 0;
      for (const test of module.children.allTests()) {
        tests += 1;
        const result = test.result();
        count[result.state === 'pending' ? 'skipped' : result.state] += 1;
        if (result.state === 'skipped' && !this.#chosenByName)
          skipped.push(`${test.fullName}: ${result.note ?? 'no reason given'}`);
      }
      // A file that could not be loaded has no tests, and is a failure all the same.
      if (tests === 0 || (module.state() === 'failed' && module.errors().length > 0)) count.failed += 1;
    }
    for (const line of skipped) process.stdout.write(`skipped: ${line}\n`);
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
