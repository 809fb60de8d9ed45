import { performance } from 'node:perf_hooks';
import { PaymentsClient, webhooks } from '@tillflow/payments-client';
import type { Dispatcher } from 'undici';
import { median } from '../statistics.js';
import { CHARGE, CHARGE_ID, type Operation } from './operations.js';

/** Single costs without HTTP, in µs. */
export type Costs = {
  /** Of one charge as JSON. */
  readonly chargeBytes: number;
  /** From the bytes of a charge to an object. */
  readonly parse: number;
  /** Checking one charge that is already an object. */
  readonly validate: number;
  /** Everything that the client does for one call, but for HTTP and parsing. */
  readonly retrieve: number;
  readonly create: number;
  /** Verifying and reading one webhook. */
  readonly webhook: number;
};

const BATCH_MS = 10;

/** @param ms how long each cost is measured. */
export async function measureCosts(bodies: Readonly<Record<Operation, string>>, ms: number): Promise<Costs> {
  const beyondParsing = (body: string, call: (client: PaymentsClient) => Promise<unknown>): Promise<number> => {
    const client = clientThatIsAnswered(body);
    return differenceOf(() => call(client), parsing(body), ms);
  };
  return {
    chargeBytes: Buffer.byteLength(bodies.retrieve),
    parse: await differenceOf(parsing(bodies.retrieve), () => undefined, ms),
    validate: await validation(bodies.retrieve, ms),
    retrieve: await beyondParsing(bodies.retrieve, (client) => client.charges.retrieve(CHARGE_ID)),
    create: await beyondParsing(bodies.create, (client) => client.charges.create(CHARGE)),
    webhook: await webhookCost(bodies.retrieve, ms),
  };
}

/** The client's own check, which it does not export. */
async function validation(body: string, ms: number): Promise<number> {
  const entry = import.meta.resolve('@tillflow/payments-client');
  const { read } = (await import(new URL('records.js', entry).href)) as {
    read: (schema: unknown, json: unknown) => object;
  };
  const { charge } = (await import(new URL('charges/schema.js', entry).href)) as { charge: unknown };
  const json: unknown = JSON.parse(body);
  if (!('record' in read(charge, json))) throw new Error('a charge that is not accepted');
  return await differenceOf(
    () => read(charge, json),
    () => undefined,
    ms,
  );
}

function parsing(body: string): () => unknown {
  const bytes = Buffer.from(body);
  return () => JSON.parse(bytes.toString());
}

/** A client whose requests are answered before they leave. */
function clientThatIsAnswered(body: string): PaymentsClient {
  const bytes = Buffer.from(body);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => undefined,
    pause: () => undefined,
    resume: () => undefined,
  };
  return new PaymentsClient({
    baseUrl: 'http://provider.test',
    secretKey: 'skey_test_bench',
    dispatcher: {
      dispatch: (_options, handler) => {
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 200, headers);
        handler.onResponseData?.(controller, bytes);
        handler.onResponseEnd?.(controller, {});
        return true;
      },
    },
  });
}

async function webhookCost(charge: string, ms: number): Promise<number> {
  const secret = Buffer.from('a webhook secret of some length!').toString('base64');
  const timestamp = 1_749_427_200;
  const body = Buffer.from(
    `{"object":"event","id":"evnt_test_1","livemode":false,"key":"charge.complete","data":${charge}}`,
  );
  const headers = webhooks.sign(body, { secret, timestamp });
  const options = { secrets: [secret], now: timestamp * 1_000 };
  return await differenceOf(
    () => webhooks.construct(body, headers, options),
    () => undefined,
    ms,
  );
}

type Call = () => unknown;

/** What one costs more than the other, in µs: median of many short batches in turn, so that what disturbs the machine disturbs both, or few. */
async function differenceOf(call: Call, base: Call, ms: number): Promise<number> {
  const [batch, baseBatch] = [await batchSize(call), await batchSize(base)];
  const differences: number[] = [];
  const end = performance.now() + ms;
  do {
    differences.push((await microsecondsOf(call, batch)) - (await microsecondsOf(base, baseBatch)));
  } while (performance.now() < end);
  return median(differences);
}

async function microsecondsOf(call: Call, times: number): Promise<number> {
  const began = performance.now();
  for (let i = 0; i < times; i += 1) await call();
  return ((performance.now() - began) * 1_000) / times;
}

/** How many calls take about {@link BATCH_MS}, found while the code warms up. */
async function batchSize(call: Call): Promise<number> {
  const end = performance.now() + WARM_UP_MS;
  let calls = 0;
  for (; performance.now() < end; calls += 1) await call();
  return Math.max(1, Math.round((calls * BATCH_MS) / WARM_UP_MS));
}

const WARM_UP_MS = 200;
