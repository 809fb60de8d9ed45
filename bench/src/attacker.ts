import { ATTACKS } from './attacks.js';

/** Attacks from its own process, so that the load generator does not slow down the measured till. */
const [name = '', url = '', link = ''] = process.argv.slice(2);
const attack = ATTACKS[name];
if (attack === undefined) throw new Error(`Unknown attack: ${name}`);

const stop = new AbortController();
process.once('message', () => stop.abort());
const answers = await attack({ url, link }, stop.signal);
process.send?.(answers);
process.disconnect();
