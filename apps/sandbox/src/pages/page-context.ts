import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import type { BrowserGuard } from '../http/browser-guard.js';
import type { Clock } from '../clock.js';
import type { FormMap } from '../http/form.js';
import type { Provider } from '../provider/provider.js';
import type { Renderer } from '../api/render.js';
import type { PageAnswer } from './answer.js';
import type { Problem } from './layout.js';

type PageCall = {
  readonly id: string;
  readonly form: FormMap;
  readonly query: FormMap;
  readonly headers: IncomingHttpHeaders;
};
export type PageRoute = (call: PageCall) => PageAnswer;

export type PagesOptions = {
  readonly provider: Provider;
  readonly render: Renderer;
  readonly clock: Clock;
  readonly assumptions: Assumptions;
  readonly livemode: boolean;
  readonly guard: BrowserGuard;
};

/** What each group of pages needs: the provider, and the ways to add a route. */
export type PageContext = PagesOptions & {
  /** Adds a `GET` route that pages of other sites may load: its address must be impossible to guess. */
  readonly getFromAnywhere: (template: string, route: PageRoute) => void;
  /** Adds a `GET` route that checks `Host`. */
  readonly get: (template: string, route: PageRoute) => void;
  /** Adds a `POST` route that checks `Host` and accepts forms of this sandbox's own pages only. */
  readonly post: (template: string, route: PageRoute) => void;
};

/** Carries out a form and redirects to its result. After a refusal, the form's own page shows the reason. */
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
