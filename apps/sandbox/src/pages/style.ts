/** The style of every page: light and dark, from 320 px wide, with a text contrast of at least 4.5 to 1. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --back: #f3f4f7; --surface: #fff; --text: #171a21; --quiet: #555d6d; --line: #d9dde4; --edge: #7a8394;
  --accent: #0b57d0; --on-accent: #fff; --danger: #b3261e;
  --pending: #6b4700; --pending-back: #fff0cc; --good: #0c5127; --good-back: #d8f5e1;
  --bad: #8c1d18; --bad-back: #fde4e2; --none: #3f4653; --none-back: #e5e8ed;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1115; --surface: #181b21; --text: #e8eaef; --quiet: #a7aebc; --line: #2d323c; --edge: #7d8696;
    --accent: #8ab4f8; --on-accent: #0a2350; --danger: #f2a39d;
    --pending: #ffd98a; --pending-back: #40300a; --good: #8fe0ac; --good-back: #0f3a20;
    --bad: #f9b4ae; --bad-back: #4a1815; --none: #c3c9d4; --none-back: #2c313b;
  }
}
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.5 system-ui, 'Segoe UI', Roboto, 'Open Sans', sans-serif; color: var(--text); background: var(--back); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.0625rem; line-height: 1.3; margin: 0 0 .75rem; }
p { margin: 0 0 .75rem; } p:last-child { margin-bottom: 0; }
a { color: var(--accent); text-underline-offset: .15em; }
code, pre, .id { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .875em; }
pre { margin: .5rem 0 0; padding: .75rem; max-height: 24rem; overflow: auto; white-space: pre-wrap; background: var(--back); border-radius: .5rem; }
summary { cursor: pointer; min-height: 1.75rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem; }
[tabindex="-1"]:focus { outline: none; }
[hidden] { display: none !important; }
.quiet { color: var(--quiet); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -100vw; } .skip:focus { left: .5rem; top: .5rem; padding: .5rem 1rem; background: var(--surface); z-index: 1; }

.top { background: var(--surface); border-bottom: 1px solid var(--line); }
.top > div, main { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
.top > div { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: center; justify-content: space-between; padding-top: .75rem; padding-bottom: .75rem; }
.brand { font-weight: 700; color: inherit; text-decoration: none; } .brand span { font-weight: 400; color: var(--quiet); }
main { padding-top: 1.25rem; padding-bottom: 3rem; display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
.head { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; justify-content: space-between; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem; min-width: 0; }
.two { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
@media (min-width: 56rem) { .two { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); } }
.stack { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }

.note { padding: .75rem 1rem; border-radius: .5rem; border-left: .3rem solid currentColor; margin: 0; white-space: pre-line; }
.note.good { color: var(--good); background: var(--good-back); } .note.bad { color: var(--bad); background: var(--bad-back); }
.note.news { color: var(--none); background: var(--none-back); }
.badge { display: inline-block; max-width: 100%; padding: 0 .6em; border-radius: 1em; font-size: .875em; font-weight: 600; overflow-wrap: break-word; color: var(--none); background: var(--none-back); }
.badge.pending, .badge.waiting { color: var(--pending); background: var(--pending-back); }
.badge.successful, .badge.delivered { color: var(--good); background: var(--good-back); }
.badge.failed { color: var(--bad); background: var(--bad-back); }

dl { display: grid; grid-template-columns: minmax(0, 1fr); margin: 0; }
dt { color: var(--quiet); font-size: .875rem; } dd { margin: 0 0 .6rem; }
@media (min-width: 34rem) { dl { grid-template-columns: minmax(7rem, 11rem) minmax(0, 1fr); gap: .35rem 1rem; } dt { padding-top: .1rem; } dd { margin: 0; } }
.stack > h2, .stack > p { margin: 0; }
.amount { margin: 0; font-size: 1.75rem; font-weight: 700; line-height: 1.2; font-variant-numeric: tabular-nums; }
.qr { display: block; width: 11rem; max-width: 100%; height: auto; background: #fff; border-radius: .5rem; }

form { margin: 0; }
label { display: block; font-size: .875rem; font-weight: 600; margin-bottom: .25rem; }
.hint { font-size: .875rem; color: var(--quiet); margin: .25rem 0 0; }
.fields { display: flex; flex-wrap: wrap; gap: .75rem; align-items: flex-end; }
.fields > * { flex: 0 1 auto; min-width: 0; max-width: 100%; } .fields > .wide { flex: 1 1 14rem; }
input, select, button { font: inherit; color: inherit; min-height: 2.75rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--surface); }
input, select { width: 100%; max-width: 100%; padding: .5rem .625rem; }
button { white-space: nowrap; display: inline-flex; align-items: center; justify-content: center; padding: .5rem 1rem; font-weight: 600; cursor: pointer; text-decoration: none; }
button:hover { background: var(--back); }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); } button.primary:hover { filter: brightness(1.08); }
button.danger { border-color: var(--danger); color: var(--danger); }
button.small { min-height: 2.25rem; padding: .25rem .75rem; font-size: .875rem; }
.row { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }

table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .6rem 1rem .6rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .875rem; color: var(--quiet); font-weight: 600; white-space: nowrap; } tbody tr:last-child > * { border-bottom: 0; }
th.number { text-align: right; }
tr > :last-child { padding-right: 0; }
@media (min-width: 60rem) { td time, td.short, td.short *, td summary { white-space: nowrap; } td pre { min-width: 18rem; } }
@media (max-width: 59.99rem) {
  table, tbody, tr, td { display: block; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: .75rem 0; border-bottom: 1px solid var(--line); } tbody tr:last-child { border-bottom: 0; padding-bottom: 0; } tbody tr:first-child { padding-top: 0; }
  td { border: 0; padding: .15rem 0; display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .75rem; }
  td::before { content: attr(data-label); color: var(--quiet); font-size: .875rem; }
  td.number { text-align: left; white-space: normal; } td:empty { display: none; }
}

.timeline { list-style: none; margin: 0; padding: 0 0 0 1.1rem; border-left: 2px solid var(--line); }
.timeline li { position: relative; padding-bottom: 1rem; } .timeline li:last-child { padding-bottom: 0; }
.timeline li::before { content: ''; position: absolute; left: -1.5rem; top: .45rem; width: .7rem; height: .7rem; border-radius: 50%; background: var(--quiet); border: 2px solid var(--surface); }
.timeline li.ahead::before { background: var(--surface); border-color: var(--quiet); }
.timeline time { display: block; font-size: .875rem; color: var(--quiet); }

.wallet { background: var(--back); } .wallet main { max-width: 25rem; padding-top: 1rem; }
.wallet .bar { text-align: center; color: var(--quiet); font-size: .875rem; margin: 0; }
.phone { background: var(--surface); border: 1px solid var(--line); border-radius: 1.25rem; padding: 1.5rem 1.25rem; text-align: center; }
.phone h1 { font-size: 1.0625rem; font-weight: 600; } .phone .amount { font-size: clamp(1.625rem, 8.5vw, 2.25rem); margin: .25rem 0 1.25rem; }
.mark { display: grid; place-items: center; width: 3.5rem; height: 3.5rem; margin: 0 auto .75rem; border-radius: 50%; font-size: 1.5rem; font-weight: 700; color: var(--on-accent); background: var(--accent); }
.mark.good { color: var(--good); background: var(--good-back); } .mark.bad { color: var(--bad); background: var(--bad-back); } .mark.none { color: var(--none); background: var(--none-back); }
.phone dl { grid-template-columns: auto minmax(0, 1fr); gap: .35rem 1rem; text-align: left; border-top: 1px solid var(--line); padding: 1rem 0 0; margin-bottom: 1rem; }
.phone dd { text-align: right; margin: 0; } .phone label { text-align: left; } .phone button { width: 100%; } .phone .note { margin-bottom: .75rem; } .phone form + form { margin-top: .75rem; }
.phone button.primary { min-height: 3.25rem; font-size: 1.0625rem; }
.phone .refuse { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); display: grid; gap: .75rem; }
`;
