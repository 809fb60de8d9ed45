import { formatInstant, type Instant } from '@tillflow/domain';
import type { PageAnswer } from './answer.js';
import { LIVE_SCRIPT } from './live.js';
import { markup, Markup, type Content } from './markup.js';
import { STYLE } from './style.js';

export type DashboardPage = {
  readonly title: string;
  readonly body: Content;
  /** Shown beside the heading. */
  readonly aside?: Content;
  /** The result of the last form, such as "The charge is voided." */
  readonly outcome?: string | undefined;
  /** Why a form changed nothing. */
  readonly problem?: Problem | undefined;
};

/** A refused form: the HTTP status of the page, and the reason. */
export type Problem = { readonly status: number; readonly message: string };

export function dashboardPage(page: DashboardPage, clock: { now(): Instant; readonly frozen: boolean }): PageAnswer {
  const { title, body, aside = null, outcome, problem } = page;
  return documentOf({
    title: `${title} – sandbox dashboard`,
    status: problem?.status ?? 200,
    body: markup`<body><a class="skip" href="#main">Skip to the content</a>
<header class="top"><div>
<a class="brand" href="/dashboard">Sandbox <span>test mode</span></a>
<span class="quiet" id="clock-now" data-live>${timeOf(clock.now())}${clock.frozen && ' (frozen)'}</span>
</div></header>
<main id="main">
<div class="head"><h1>${title}</h1><span id="aside" data-live>${aside}</span></div>
${outcome !== undefined && problem === undefined && noteOf('good', 'status', outcome)}
${problem !== undefined && noteOf('bad', 'alert', problem.message)}
${CHANGED}
${body}
</main>`,
  });
}

/** A page of the customer's phone. */
export function walletPage(title: string, body: Content, status = 200): PageAnswer {
  return documentOf({
    title: `${title} – sandbox wallet`,
    status,
    body: markup`<body class="wallet"><main id="main">
<p class="bar">Sandbox wallet: no real money</p>
${CHANGED}
${body}
</main>`,
  });
}

/** The page of an error outside of any form. */
export function errorPage({ status, message }: Problem): PageAnswer {
  return documentOf({
    title: 'Not possible – sandbox',
    status,
    body: markup`<body class="wallet"><main id="main"><div class="card stack">
<h1>Not possible</h1>
${noteOf('bad', 'alert', message)}
<p><a href="/dashboard">Go to the dashboard</a></p>
</div></main>`,
  });
}

/** Always UTC, as the provider's rules are. */
export function timeOf(at: Instant): Markup {
  const text = formatInstant(at);
  return markup`<time datetime="${text}">${text.slice(0, 10)} ${text.slice(11, 19)} UTC</time>`;
}

const CHANGED = markup`<p class="note news" id="changed" role="status" hidden>This page has changed. <a href="">Reload it</a></p>`;

/** Takes the focus, so that a screen reader says the result of the form first. */
function noteOf(kind: 'good' | 'bad', role: 'status' | 'alert', text: string): Markup {
  return markup`<p class="note ${kind}" role="${role}" tabindex="-1" autofocus>${text}</p>`;
}

function documentOf({ title, status, body }: { title: string; status: number; body: Markup }): PageAnswer {
  const page = markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="icon" href="/favicon.ico" type="image/svg+xml"><style>${new Markup(STYLE)}</style></head>
${body}
<script>${new Markup(LIVE_SCRIPT)}</script></body></html>`;
  return { kind: 'html', status, body: page.text };
}
