import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// Imported into a server: it collects its garbage when it gets SIGUSR2.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());
