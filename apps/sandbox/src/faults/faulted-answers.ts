import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, type Answer } from '../http/answer.js';
import { codeOfStatus, renderError } from '../http/api-error.js';
import type { Fault, FaultEffect } from './plan.js';

type FaultedRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly fault: Fault;
  readonly effect: FaultEffect;
  /** Does the work. */
  readonly answer: () => Answer;
  /** Records the status, null for none, and then writes. */
  readonly send: (status: number | null, write: () => void) => void;
};

const GARBAGE = '{"object":"charge","id":"chrg_\u0000<html>';
const DEFAULT_DELAY_MS = 1_000;

/** The answers of requests that a fault hit. */
export class FaultedAnswers {
  /** Requests without an answer. */
  readonly #hanging = new Set<ServerResponse>();
  /** Delayed requests; each callback gets false when the request is broken off. */
  readonly #pauses = new Set<(goOn: boolean) => void>();

  /** Breaks off all requests that wait. */
  release(): void {
    for (const goOn of this.#pauses) goOn(false);
    for (const response of this.#hanging) response.destroy();
    this.#pauses.clear();
    this.#hanging.clear();
  }

  async answer(faulted: FaultedRequest): Promise<void> {
    const { request, fault, effect } = faulted;
    const delayMs = fault.delay_ms ?? (effect.ends === 'answer' ? DEFAULT_DELAY_MS : 0);
    const delaysWork = fault.action === 'delay' || !effect.works;
    if (delayMs > 0 && delaysWork && !(await this.#pause(delayMs))) return abort(request);
    const answer = effect.works ? faulted.answer() : null;
    if (delayMs > 0 && !delaysWork && !(await this.#pause(delayMs))) return abort(request);
    this.#end(faulted, answer);
  }

  #end({ request, response, fault, effect, send }: FaultedRequest, answer: Answer | null): void {
    const sendAnswer = (toSend: Answer, type?: string): void =>
      send(toSend.status, () => sendJson(response, toSend, type));
    switch (effect.ends) {
      case 'answer':
        if (answer !== null) sendAnswer(answer);
        return;
      case 'status': {
        const status = fault.status ?? 500;
        const code = fault.code ?? codeOfStatus(status);
        const body = fault.body ?? JSON.stringify(renderError(code, 'A fault of the sandbox made this answer.'));
        sendAnswer({ status, body, retryAfter: fault.retry_after }, body.startsWith('<') ? 'text/html' : undefined);
        return;
      }
      case 'garbage':
        sendAnswer({ status: fault.status ?? 200, body: fault.body ?? GARBAGE });
        return;
      case 'truncated':
        if (answer !== null) send(answer.status, () => sendTruncated(response, answer));
        return;
      case 'replaced':
        if (answer !== null) sendAnswer({ ...answer, body: withRecords(answer.body, fault.records ?? {}) });
        return;
      case 'reset':
        send(null, () => abort(request));
        return;
      case 'hang':
        send(null, () => {
          this.#hanging.add(response);
          response.once('close', () => this.#hanging.delete(response));
        });
    }
  }

  /** False when the request is broken off. */
  async #pause(ms: number): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      const end = (goOn: boolean): void => {
        clearTimeout(timer);
        this.#pauses.delete(end);
        resolve(goOn);
      };
      const timer = setTimeout(() => end(true), ms);
      this.#pauses.add(end);
    });
  }
}

/** Replaces records by id: those of a list, or the one that the answer is. */
function withRecords(body: string, records: Readonly<Record<string, unknown>>): string {
  const replaced = (record: unknown): unknown => {
    const { id } = (record ?? {}) as { readonly id?: unknown };
    return typeof id === 'string' && Object.hasOwn(records, id) ? records[id] : record;
  };
  const answer: unknown = JSON.parse(body);
  const { data } = answer as { readonly data?: unknown };
  return JSON.stringify(Array.isArray(data) ? { ...(answer as object), data: data.map(replaced) } : replaced(answer));
}

/** Announces the whole body, sends half of it, and closes the connection. */
function sendTruncated(response: ServerResponse, { status, body }: Answer): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}

/** The caller sees a reset connection, not an end. */
function abort(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}
