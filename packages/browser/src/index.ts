export { ACCESSIBILITY_PROBLEMS } from './accessibility.js';
export { openBrowser, type OpenedBrowser } from './browser.js';
