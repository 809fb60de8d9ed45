import { render } from 'preact';
import { Api } from './api.js';
import { alone } from './alone.js';
import { Bell } from './bell.js';
import { Device, NO_MEMORY, type Memory } from './device.js';
import { Display } from './display.js';
import { DisplayPage } from './display-page.js';
import { isUnfinished, type Screen } from './screen.js';
import { ScreenLight } from './screen-light.js';
import { ServerClock } from './server-clock.js';
import { Till, type Shown } from './till.js';
import { Message, TillPage } from './till-page.js';
import { trustedWorker } from './trusted.js';
import { languageOf, LANGUAGES, WORDS, type Language } from './words.js';

/** How often the page compares the time of a QR code with the API's time. Milliseconds. */
const TICK_MS = 250;

/** In this channel the page of the till says which checkout it shows, and the customer's screen asks it. */
const CHANNEL = 'tillflow';
const ASK = 'which checkout?';

const [, base = ''] = /^(.*)\/counter(?:\/.*)?$/.exec(location.pathname) ?? [];
const isDisplay = location.pathname.endsWith('/display');
const root = document.body;
const memory = memoryOf(() => localStorage);
const device = new Device(
  memory,
  memoryOf(() => sessionStorage),
  isDisplay ? 'display' : 'till',
);
const clock = new ServerClock();
const api = new Api(location.origin + base, clock);
const channel = openChannel();
const light = new ScreenLight();

let language = chosenLanguage();
let draw = (): void => undefined;

/** A browser may forbid a page to store anything, and then throws at the mention of it. */
function memoryOf(read: () => Storage): Memory {
  try {
    return read();
  } catch {
    return NO_MEMORY;
  }
}

function openChannel(): BroadcastChannel | null {
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    return null;
  }
}

function chosenLanguage(): Language {
  const chosen = device.choice('language');
  return chosen !== null && chosen in LANGUAGES ? (chosen as Language) : languageOf(navigator.languages);
}

function chooseLanguage(chosen: Language): void {
  device.choose('language', chosen);
  language = chosen;
  draw();
}

/** The token of a link. It stays in the address until the page has its session, so that a reload finds it. */
function linkInAddress(): string | null {
  return location.hash.slice(1) || null;
}

/** The token leaves the address, so that it is not read or copied there. */
function forgetLink(): void {
  history.replaceState(null, '', location.pathname);
}

function speech() {
  const words = WORDS[language];
  document.documentElement.lang = language;
  document.title = isDisplay ? words.customerScreen : words.counter;
  return { language, words };
}

/** What the page shows now. @param other when there is no sale */
function show(screen: Screen | null, other: string): void {
  root.dataset['screen'] = screen ?? other;
  light.keepOn(screen !== null && isUnfinished(screen));
}

function watchNetwork(wake: () => void): void {
  addEventListener('offline', () => api.lost());
  addEventListener('online', wake);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') wake();
  });
}

function openTill(): void {
  const bell = new Bell();
  let shown = '';
  const till = new Till({
    api,
    device,
    clock,
    onChange: () => draw(),
    onEntered: forgetLink,
    onPaid: () => bell.ring(),
    onShown: (now) => {
      const text = JSON.stringify(now);
      if (text !== shown) channel?.postMessage(now);
      shown = text;
    },
    alone,
  });
  const currency = (): string => {
    const { currencies = [] } = till.session ?? {};
    const chosen = device.choice('currency');
    return chosen !== null && currencies.includes(chosen) ? chosen : (currencies[0] ?? 'THB');
  };
  const chooseCurrency = (chosen: string): void => {
    device.choose('currency', chosen);
    draw();
  };
  draw = () => {
    render(
      <TillPage
        till={till}
        now={clock.now()}
        currency={currency()}
        chooseCurrency={chooseCurrency}
        chooseLanguage={chooseLanguage}
        {...speech()}
      />,
      root,
    );
    show(till.screen, till.stage);
  };
  setInterval(() => till.tick(), TICK_MS);
  for (const press of ['pointerdown', 'keydown'])
    addEventListener(press, ({ timeStamp }) => till.pressed(timeStamp), true);
  // The begin of a touch does not count as one: its end does.
  for (const touch of ['pointerdown', 'pointerup', 'click', 'keydown']) addEventListener(touch, () => bell.unlock());
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (data === ASK) channel.postMessage(till.shown);
  });
  addEventListener('storage', () => till.storageChanged());
  addEventListener('hashchange', () => {
    if (linkInAddress() !== null) till.open(linkInAddress());
  });
  watchNetwork(() => till.wake());
  till.open(linkInAddress());
}

function openDisplay(): void {
  const onEntered = (): void => {
    forgetLink();
    channel?.postMessage(ASK);
  };
  const display = new Display({ api, device, clock, onChange: () => draw(), onEntered });
  draw = () => {
    render(<DisplayPage display={display} now={clock.now()} {...speech()} />, root);
    show(display.screen, display.stage === 'ready' ? 'idle' : display.stage);
  };
  const follow = (): void => void display.follow(linkInAddress()).catch(() => undefined);
  setInterval(() => draw(), TICK_MS);
  channel?.addEventListener('message', ({ data }: MessageEvent<Shown | typeof ASK>) => {
    if (data !== ASK) display.shown(data);
  });
  addEventListener('storage', () => display.goOn());
  addEventListener('hashchange', () => {
    if (linkInAddress() !== null) follow();
  });
  watchNetwork(() => display.wake());
  follow();
}

/** The page can begin no sale that survives a reload. */
function refuse(): void {
  const { words } = speech();
  render(
    <main>
      <Message {...words.noStorage} />
    </main>,
    root,
  );
  show(null, 'no-storage');
}

/** The page opens without a network, and can be installed. */
function installWorker(): void {
  const worker = trustedWorker(`${base}/counter/worker.js`);
  void navigator.serviceWorker?.register(worker, { scope: `${base}/counter` }).catch(() => undefined);
}

if (isDisplay) openDisplay();
else if (memory === NO_MEMORY) refuse();
else openTill();
installWorker();
