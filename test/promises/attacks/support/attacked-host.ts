import { createTestService } from 'store-orders/testing';
import { SERVERS } from '../../../http/mounts/support/servers.js';

// Starts a host in which the service is mounted, and prints the port.

const [, create] = Object.entries(SERVERS).find(([name]) => name === process.argv[2]) ?? [];
const server = await create?.(createTestService().service);
server?.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
