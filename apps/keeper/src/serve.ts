import { constants } from 'node:crypto';
import { verifyGateway } from '@sotto/attestation';
import { exitMessage, leaveServer, listenProblem, openLogOutlet, openTlsFiles } from '@sotto/http';
import type { Environment } from '@sotto/settings';
import { pino } from 'pino';
import { buildKeeper } from './build-keeper.ts';
import { readConfig } from './config.ts';
import { keeperEvents } from './events.ts';
import { FileError, parsePins, parseSecrets, readText } from './files.ts';

/** TLS 1.3 alone, where a client's certificate is encrypted; no tickets: a resumed session would prove no key. */
const tlsOptions = { minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET } as const;
const leave = { announceMs: 0, graceMs: 10_000 };

/** Runs the keeper until a signal ends it. */
export async function serve(environment: Environment): Promise<void> {
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-keeper', error));
    process.exit(1);
  });
  await start(environment).catch((error: unknown) => {
    const message = error instanceof FileError || error instanceof StartError ? error.message : 'unexpected error';
    process.stderr.write(`sotto-keeper: ${message}\n`);
    process.exit(1);
  });
}

/** A start that cannot go on: one line, no stack. */
class StartError extends Error {}

async function start(environment: Environment): Promise<void> {
  const read = readConfig(environment);
  if (!read.ok) throw new StartError(read.message);
  const { config } = read;
  const pins = () => parsePins(readText('PINS_FILE', config.pinsFile));
  const secrets = () => parseSecrets(readText('SECRETS_FILE', config.secretsFile));
  // What is wrong with them is said now, and not to the first broker that needs them.
  pins();
  secrets();
  const tls = openTls(config.tls);
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const events = keeperEvents(pino({ level: config.logLevel, base: { process: 'keeper' } }, outlet));
  const { origin } = config;
  const options = { ...tlsOptions, ...tls.pair };
  const app = buildKeeper({ origin, tls: options, pins, secrets, verify: verifyGateway, events, now: Date.now });
  const address = await app.listen({ host: config.host, port: config.port }).catch((error: unknown) => {
    const problem = listenProblem(error, 'KEEPER_PORT');
    throw problem === undefined ? error : new StartError(problem);
  });
  const followed = tls.follow(app.server, tlsOptions);
  followed.start();
  events.lifecycle('listening', { address });
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    void Promise.all([followed.stop(), leaveServer(app, leave)]).then(() => {
      events.lifecycle('stopped');
      process.exit(0);
    });
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function openTls({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }) {
  try {
    return openTlsFiles(certFile, keyFile);
  } catch {
    throw new StartError(
      'TLS_CERT_FILE and TLS_KEY_FILE: they take a certificate with its chain and the key to it, as PEM',
    );
  }
}
