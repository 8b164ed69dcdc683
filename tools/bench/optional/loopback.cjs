// The gateway listens on every address. This limits it to loopback.
const { Server } = require('node:net');
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  if (typeof args[0] === 'number')
    return listen.call(this, { port: args[0], host: '127.0.0.1' }, ...args.filter((arg) => typeof arg === 'function'));
  if (typeof args[0] === 'object' && args[0] !== null && args[0].port !== undefined)
    return listen.call(this, { ...args[0], host: '127.0.0.1' }, ...args.slice(1));
  return listen.apply(this, args);
};
