export { ACCESSIBILITY_PROBLEMS } from './accessibility.js';
export { openBrowser, type OpenedBrowser } from './browser.js';
export type { Browser, BrowserContext, Page } from 'playwright-core';
