import * as z from 'zod';
import { hostPort, httpsOrigin, loopbackHosts, origin, port } from '../kinds.ts';
import { broker, control, controlAndStart, keeper, start } from '../row.ts';

const startHost = z.enum(loopbackHosts, {
  error: 'takes a loopback address in embedded mode: 127.0.0.1, ::1 or localhost',
});
const brokerTls = z.enum(['self', 'files', 'off'], { error: 'takes `self`, `files` or `off`' });

/** Where the processes listen, and where they are reached. */
export const reachRows = [
  controlAndStart('CONTROL_PORT', 'control.port', {
    kind: port(4000),
    describe: 'Port that control listens on.',
  }),
  start('CONFIDENTIAL_PORT', 'broker.port', {
    kind: port(4001),
    describe: "The broker's port, used when `CONFIDENTIAL_ORIGIN` is not set.",
  }),
  control('HOST', 'control.host', {
    kind: z.string(),
    default: '0.0.0.0',
    describe: 'Address that control listens on.',
    start: { kind: startHost, default: '127.0.0.1', describe: 'Address that both processes listen on.' },
  }),
  controlAndStart('CONTROL_ORIGIN', 'control.origin', {
    kind: origin,
    describe: 'Public address of control. The default is made from `HOST` and `CONTROL_PORT`.',
  }),
  control('CONFIDENTIAL_ORIGIN', 'broker.origin', {
    kind: origin,
    describe:
      'Public address of the broker. The default is made from `HOST`, `CONFIDENTIAL_PORT` and `CONFIDENTIAL_TLS`.',
    start: { describe: 'Public address of the broker. The default is made from `HOST` and `CONFIDENTIAL_PORT`.' },
  }),
  control('CONTROL_ADDRESS', 'control.address', {
    kind: hostPort,
    describe:
      'Where `doctor` reaches control, if `CONTROL_ORIGIN` leads elsewhere, such as `localhost` in a container.',
  }),
  control('CONFIDENTIAL_ADDRESS', 'broker.address', {
    kind: hostPort,
    describe: 'Where control and `doctor` reach the broker, if `CONFIDENTIAL_ORIGIN` leads elsewhere.',
  }),
  control('CONFIDENTIAL_PORT', 'broker.port', {
    kind: port(4001),
    describe: "The broker's port, used when `CONFIDENTIAL_ORIGIN` is not set.",
  }),
  control('CONFIDENTIAL_TLS', 'broker.tls.mode', {
    kind: brokerTls,
    default: 'self',
    describe: "The broker's `CONFIDENTIAL_TLS`, used when `CONFIDENTIAL_ORIGIN` is not set: `off` means `http`.",
  }),
  broker('CONFIDENTIAL_PORT', 'broker.port', { kind: port(4001), describe: 'Port that the broker listens on.' }),
  broker('HOST', 'broker.host', {
    kind: z.string(),
    default: '0.0.0.0',
    describe: 'Address that the broker listens on.',
  }),
  keeper('HOST', 'keeper.host', {
    kind: z.string(),
    default: '0.0.0.0',
    describe: 'Address that the keeper listens on.',
  }),
  keeper('KEEPER_PORT', 'keeper.port', { kind: port(4002), describe: 'Port that the keeper listens on.' }),
  keeper('KEEPER_ORIGIN', 'keeper.origin', {
    kind: httpsOrigin,
    required: true,
    describe: 'Address that brokers reach the keeper at. Their evidence must name it.',
  }),
];
