import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import type { BrowserGuard } from '../http/browser-guard.js';
import type { Clock } from '../clock.js';
import type { FormMap } from '../http/form.js';
import type { Provider } from '../provider/provider.js';
import type { Renderer } from '../api/render.js';
import type { Sandbox } from '../sandbox.js';
import type { RequestLog } from '../control/state.js';
import type { PageAnswer } from './answer.js';
import type { DashboardPage, Problem } from './layout.js';

type PageCall = {
  readonly id: string;
  readonly form: FormMap;
  readonly query: FormMap;
  readonly headers: IncomingHttpHeaders;
};
export type PageRoute = (call: PageCall) => PageAnswer;

export type PagesOptions = {
  readonly sandbox: Sandbox;
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly assumptions: Assumptions;
  readonly log: RequestLog;
  readonly livemode: boolean;
  readonly guard: BrowserGuard;
};

/** What each group of pages is given: the sandbox, a frame, and the ways to add a route. */
export type Desk = PagesOptions & {
  /** For an address that cannot be guessed and that pages of other sites show, such as a till's. */
  readonly getFromAnywhere: (template: string, route: PageRoute) => void;
  readonly get: (template: string, route: PageRoute) => void;
  /** Of this sandbox's own pages only. */
  readonly post: (template: string, route: PageRoute) => void;
  readonly page: (page: DashboardPage) => PageAnswer;
};

/** Does what a form asks and goes to where it is seen; a refusal is told on the form's own page. */
export function carryOut(
  work: () => void,
  { location, refused }: { location: string; refused: (problem: Problem) => PageAnswer },
): PageAnswer {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return refused({ status: error.status, message: error.message });
    throw error;
  }
  return { kind: 'redirect', location };
}
