import { expect, it } from 'vitest';
import { mergeMetrics } from './merge.js';

it('merged metrics list each metric once, with the samples of all texts', () => {
  const one = '# HELP a First.\n# TYPE a counter\na{account="x"} 1\n\n# TYPE b gauge\nb{account="x"} 2\n';
  const other = '# HELP a First.\n# TYPE a counter\na{account="y"} 3\n';
  expect(mergeMetrics([one, other])).toBe(
    '# HELP a First.\n# TYPE a counter\na{account="x"} 1\na{account="y"} 3\n\n# TYPE b gauge\nb{account="x"} 2\n',
  );
});
