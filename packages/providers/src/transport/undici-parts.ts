/*
 * The parts of undici that the broker uses. Its index would bring `fetch`, web sockets, caches and mocks into the measured image,
 * a megabyte of code, and 14 MiB into the memory of each broker.
 */

import api from 'undici/lib/api/index.js';
import buildConnector from 'undici/lib/core/connect.js';
import Pool from 'undici/lib/dispatcher/pool.js';

// As undici's index does for all dispatchers.
Object.assign(Pool.prototype, { request: api.request });

export { buildConnector, Pool };
