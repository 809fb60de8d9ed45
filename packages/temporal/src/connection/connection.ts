import { readFile } from 'node:fs/promises';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { dataConverter } from '../encryption/data-converter.js';
import { CallRetries } from './retries.js';
import { SettingsError, type TemporalSettings } from '../settings/settings.js';
import { tracedCalls, type TraceCall } from '../traces/traced-calls.js';

/** The part of the connection options that clients and workers share. */
export type ConnectionSettings = Pick<ConnectionOptions, 'address' | 'tls'> & { readonly apiKey?: string };

/**
 * Turns settings into connection options; certificate and key are read from their files.
 * A certificate, a server name or an API key implies TLS.
 * @throws {SettingsError} when only one of certificate and key is given, or a file cannot be read.
 */
export async function connectionSettings(settings: TemporalSettings): Promise<ConnectionSettings> {
  const { TEMPORAL_TLS_CERT_PATH: certPath, TEMPORAL_TLS_KEY_PATH: keyPath, TEMPORAL_API_KEY: apiKey } = settings;
  if ((certPath === undefined) !== (keyPath === undefined)) {
    throw new SettingsError(['TEMPORAL_TLS_CERT_PATH and TEMPORAL_TLS_KEY_PATH go together']);
  }
  const address = settings.TEMPORAL_ADDRESS;
  if (!usesTls(settings)) return { address };
  const [ca, crt, key] = await Promise.all([
    readPem('TEMPORAL_TLS_CA_PATH', settings.TEMPORAL_TLS_CA_PATH),
    readPem('TEMPORAL_TLS_CERT_PATH', certPath),
    readPem('TEMPORAL_TLS_KEY_PATH', keyPath),
  ]);
  return {
    address,
    tls: {
      ...(settings.TEMPORAL_TLS_SERVER_NAME === undefined
        ? {}
        : { serverNameOverride: settings.TEMPORAL_TLS_SERVER_NAME }),
      ...(ca === undefined ? {} : { serverRootCACertificate: ca }),
      ...(crt !== undefined && key !== undefined ? { clientCertPair: { crt, key } } : {}),
    },
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/** Whether the connection to Temporal is encrypted: TEMPORAL_TLS says so, or a setting is given that only TLS uses. */
export function usesTls(settings: TemporalSettings): boolean {
  return (
    settings.TEMPORAL_TLS ||
    settings.TEMPORAL_TLS_CERT_PATH !== undefined ||
    settings.TEMPORAL_TLS_CA_PATH !== undefined ||
    settings.TEMPORAL_TLS_SERVER_NAME !== undefined ||
    settings.TEMPORAL_API_KEY !== undefined
  );
}

/** Reconnects within a second after Temporal is back: the library's own pause grows to two minutes. */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };

/**
 * Detects a lost connection within 14 s; the library's own 45 s are too long for a till. The server treats more than
 * one ping in 10 s as an attack.
 */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 11_000, 'grpc.keepalive_timeout_ms': 3_000 };

export type Temporal = {
  readonly client: Client;
  readonly connection: Connection;
  /** Why the last failed try of a call failed, such as a refused connection; null before the first. For people. */
  readonly lastFailure: () => string | null;
  /** Gives a message to a workflow a span, where the client's own methods do not send it. Undefined: no traces. */
  readonly trace?: TraceCall | undefined;
  /** Ends the retries of calls in flight, then closes the connection. */
  close(): Promise<void>;
};

/**
 * A client that connects when it is first used. So a program starts while Temporal is down, and can say what is wrong.
 * @param trace gives each message to a workflow a span. Absent: no traces
 */
export async function openTemporal(settings: TemporalSettings, trace?: TraceCall): Promise<Temporal> {
  const retries = new CallRetries();
  const connection = Connection.lazy({
    ...(await connectionSettings(settings)),
    channelArgs: { ...RECONNECT, ...KEEPALIVE },
    interceptors: retries.interceptors,
  });
  const client = new Client({
    connection,
    namespace: settings.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(settings),
    ...(trace === undefined ? {} : { interceptors: { workflow: [tracedCalls(trace)] } }),
  });
  const close = async (): Promise<void> => {
    await retries.end();
    await connection.close();
  };
  return { connection, client, lastFailure: () => retries.lastFailure, trace, close };
}

async function readPem(setting: string, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch {
    throw new SettingsError([`${setting}: the file cannot be read`]);
  }
}
