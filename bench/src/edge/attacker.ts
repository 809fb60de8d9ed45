import { ATTACKS } from './attacks.js';

/** Attacks from a process of its own, so that the till's times are not those of a busy load generator. */
const [name = '', url = '', link = ''] = process.argv.slice(2);
const attack = ATTACKS[name];
if (attack === undefined) throw new Error(`There is no attack ${name}`);

const stop = new AbortController();
process.once('message', () => stop.abort());
const answers = await attack({ url, link }, stop.signal);
process.send?.(answers);
process.disconnect();
