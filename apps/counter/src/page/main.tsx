import { render } from 'preact';
import { Api } from './api.js';
import { Bell } from './bell.js';
import { Device } from './device.js';
import { Display } from './display.js';
import { DisplayPage } from './display-page.js';
import { isUnfinished, type Screen } from './screen.js';
import { ScreenLight } from './screen-light.js';
import { ServerClock } from './server-clock.js';
import { Till, type Shown } from './till.js';
import { TillPage } from './till-page.js';
import { languageOf, LANGUAGES, WORDS, type Language } from './words.js';

/** How often the page compares the time of a QR code with the API's time. Milliseconds. */
const TICK_MS = 250;

/** The two pages tell each other in this channel which checkout the till shows. */
const CHANNEL = 'tillflow';

const [, base = ''] = /^(.*)\/counter(?:\/.*)?$/.exec(location.pathname) ?? [];
const isDisplay = location.pathname.endsWith('/display');
const root = document.body;
const device = new Device(localStorage);
const clock = new ServerClock();
const api = new Api(location.origin + base, clock);
const channel = new BroadcastChannel(CHANNEL);
const light = new ScreenLight();

let language = chosenLanguage();
let draw = (): void => undefined;

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
      if (text !== shown) channel.postMessage(now);
      shown = text;
    },
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
  addEventListener('pointerdown', () => bell.unlock());
  addEventListener('keydown', () => bell.unlock());
  addEventListener('storage', () => till.storageChanged());
  addEventListener('hashchange', () => {
    if (linkInAddress() !== null) till.open(linkInAddress());
  });
  watchNetwork(() => till.wake());
  till.open(linkInAddress());
}

function openDisplay(): void {
  const display = new Display({ api, device, clock, onChange: () => draw(), onEntered: forgetLink });
  draw = () => {
    render(<DisplayPage display={display} now={clock.now()} {...speech()} />, root);
    show(display.screen, 'idle');
  };
  setInterval(() => draw(), TICK_MS);
  channel.addEventListener('message', ({ data }: MessageEvent<Shown>) => display.shown(data));
  watchNetwork(() => display.wake());
  draw();
  void display.follow(linkInAddress()).catch(() => undefined);
}

/** The page opens without a network, and can be installed. */
function installWorker(): void {
  const worker = `${base}/counter/worker.js`;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const trusted = trustedTypes?.createPolicy('tillflow', { createScriptURL: (url) => url }).createScriptURL(worker);
  void navigator.serviceWorker
    ?.register((trusted ?? worker) as string, { scope: `${base}/counter` })
    .catch(() => undefined);
}

type TrustedTypes = {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): unknown };
};

if (isDisplay) openDisplay();
else openTill();
installWorker();
