import { defaultPayloadConverter } from '@temporalio/common';
import { expect, it } from 'vitest';
import type { Temporal } from '../connection/connection.js';
import { msToTs } from '../connection/sdk-internals.js';
import { UnreadablePayloadError } from '../encryption/encryption-codec.js';
import { EventEndpoints } from './endpoints.js';

/** Temporal with one endpoint, whose memo was encrypted with a key that is missing here. */
function temporalWithLostKey(): Pick<Temporal, 'client' | 'connection'> {
  const run = {
    execution: { workflowId: 'event-endpoint/default/1', runId: 'run' },
    type: { name: 'eventEndpoint' },
    status: 1,
    historyLength: msToTs(0).seconds,
    startTime: msToTs(0),
    memo: { fields: { endpoint: { data: new Uint8Array() } } },
  };
  const codec = { decode: () => Promise.reject(new UnreadablePayloadError('PAYLOAD_KEYS has no key k1')) };
  const client = {
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [codec] },
    },
    workflowService: {
      listWorkflowExecutions: () => Promise.resolve({ executions: [run], nextPageToken: new Uint8Array() }),
    },
  };
  const connection = { withDeadline: (_: unknown, work: () => Promise<unknown>) => work() };
  return { client, connection } as unknown as Pick<Temporal, 'client' | 'connection'>;
}

it('an endpoint that cannot be decrypted is reported once, and lists leave it out', async () => {
  const reported: string[] = [];
  const options = { taskQueue: 'queue', readWithinMs: 1_000 };
  const endpoints = new EventEndpoints(temporalWithLostKey(), options, (workflow, error) =>
    reported.push(`${workflow}: ${error.message}`),
  );
  expect([await endpoints.running(), await endpoints.running()]).toEqual([[], []]);
  expect(reported).toEqual(['event-endpoint/default/1: PAYLOAD_KEYS has no key k1']);
});
