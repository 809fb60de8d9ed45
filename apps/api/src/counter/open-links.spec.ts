import 'reflect-metadata';
import type { TillSession } from '@tillflow/temporal';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import type { ApiSettings } from '../settings.js';
import type { TemporalAccess } from '../temporal/temporal.provider.js';
import { OpenLinks } from './open-links.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const RUNNING = 1;
const TERMINATED = 5;

/** A link that the test revokes in Temporal, as another process does. */
function link() {
  const stored = { isRevoked: false, isDown: false, readMs: 0 };
  const reads = vi.fn<() => Promise<object>>(async () => {
    const { isRevoked } = stored;
    if (stored.readMs > 0) await new Promise((resolve) => setTimeout(resolve, stored.readMs));
    if (stored.isDown) throw new Problem('temporal_unavailable', 'as the test says');
    return { workflowExecutionInfo: { status: isRevoked ? TERMINATED : RUNNING } };
  });
  const temporal = {
    client: { options: { namespace: 'default' }, workflowService: { describeWorkflowExecution: reads } },
    inBackground: (_kind: string, _ms: number, work: () => Promise<unknown>) => work(),
  } as unknown as TemporalAccess;
  const links = new OpenLinks(temporal, new Settings({ TEMPORAL_TASK_QUEUE: 'tillflow' } as ApiSettings));
  const session: TillSession = {
    link: 'clnk_a',
    terminal: 'till-7',
    store: null,
    expires: Math.floor(Date.now() / 1_000) + 86_400,
  };
  return { stored, reads, links, session };
}

describe('what a session of the counter holds open', () => {
  it.each([0, 1_000, 2_999])(
    'ends within five seconds of the revocation, also when Temporal is slow and the link was read %i ms before',
    async (before) => {
      const { stored, links, session } = link();
      await links.mustBeOpen(session);
      Object.assign(stored, { isRevoked: true, readMs: 1_999 });
      await pass(before);
      await links.mustBeOpen(session);
      const end = vi.fn<(why: Problem) => void>();
      links.hold(session, end);
      await pass(5_000 - before);
      expect(end.mock.calls).toEqual([[expect.objectContaining({ code: 'unauthorized' })]]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('ends at once when this process revoked the link', async () => {
    const { stored, links, session } = link();
    await links.mustBeOpen(session);
    const end = vi.fn<(why: Problem) => void>();
    links.hold(session, end);
    stored.isRevoked = true;
    links.forget(session.link);
    await pass(0);
    expect(end).toHaveBeenCalledTimes(1);
  });

  it('ends when the link expires', async () => {
    const { links, session } = link();
    const end = vi.fn<(why: Problem) => void>();
    links.hold({ ...session, expires: Math.floor(Date.now() / 1_000) + 60 }, end);
    await pass(59_000);
    expect(end).not.toHaveBeenCalled();
    await pass(6_000);
    expect(end).toHaveBeenCalledTimes(1);
  });

  it('stays open while Temporal is down', async () => {
    const { stored, reads, links, session } = link();
    const end = vi.fn<(why: Problem) => void>();
    links.hold(session, end);
    stored.isDown = true;
    await pass(60_000);
    expect(end).not.toHaveBeenCalled();
    expect(reads.mock.calls.length).toBeLessThanOrEqual(20);
    Object.assign(stored, { isDown: false, isRevoked: true });
    await pass(5_000);
    expect(end).toHaveBeenCalledTimes(1);
  });

  it('costs one read in three seconds, also for its requests, and none afterwards', async () => {
    const { reads, links, session } = link();
    const releases = Array.from({ length: 50 }, () => links.hold(session, () => undefined));
    for (let second = 0; second < 30; second += 1) {
      await pass(1_000);
      await links.mustBeOpen(session);
    }
    expect(reads.mock.calls.length).toBeLessThanOrEqual(11);
    for (const release of releases) release();
    expect(vi.getTimerCount()).toBe(0);
  });
});
