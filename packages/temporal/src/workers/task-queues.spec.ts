import { expect, it } from 'vitest';
import { currentPollers, type TaskQueue } from './task-queues.js';

const NOW = 1_000_000;
const poller = (build: string, changes: Partial<TaskQueue['pollers'][number]> = {}): TaskQueue['pollers'][number] => ({
  identity: build,
  build,
  isVersioned: true,
  seenAt: NOW,
  ...changes,
});

const old = poller('1.0.0');
const current = poller('1.1.0');
const unversioned = poller('a fingerprint', { isVersioned: false });
const stopped = poller('1.1.0', { seenAt: NOW - 91_000 });

it.each<[name: string, currentBuild: string | null, pollers: TaskQueue['pollers'], expected: TaskQueue['pollers']]>([
  ['the workers of the current build', '1.1.0', [old, current], [current]],
  ['no worker of an older build, which still polls for its own checkouts', '1.1.0', [old], []],
  ['no worker that has stopped', '1.1.0', [old, stopped], []],
  ['workers without a build while no build is current', null, [unversioned], [unversioned]],
  ['no build before it is current', null, [current], []],
])('the pollers that get new checkouts are %s', (_, currentBuild, pollers, expected) => {
  const queue: TaskQueue = { backlog: 0, backlogAgeMs: 0, deployment: null, currentBuild, pollers };
  expect(currentPollers(queue, NOW)).toEqual(expected);
});
