import { CONTESTANTS, type ContestantName } from './contestants.js';
import { runLap, type Lap } from './lap.js';

/** The program of one contestant: its name and the server's address as arguments, one result for each lap it is sent. */

const [name = '', url = ''] = process.argv.slice(2);
const contestant = CONTESTANTS[name as ContestantName](url);

// One that fails ends here, with a rejection that nobody handles.
process.on('message', (lap) => void runLap(contestant, lap as Lap).then((result) => process.send?.(result)));
// A bench that is killed leaves nothing behind.
process.once('disconnect', () => process.exit());
