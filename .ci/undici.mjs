/** What the program uses of undici: its whole index takes a fifth of a second and loads Node's own copy of undici, too. */
import Dispatcher from '../node_modules/undici/lib/dispatcher/dispatcher.js';
import connect from '../node_modules/undici/lib/api/api-connect.js';
import request from '../node_modules/undici/lib/api/api-request.js';

export { default as EnvHttpProxyAgent } from '../node_modules/undici/lib/dispatcher/env-http-proxy-agent.js';
export { default as Pool } from '../node_modules/undici/lib/dispatcher/pool.js';

// The agent of a proxy calls connect.
Object.assign(Dispatcher.prototype, { connect, request });
