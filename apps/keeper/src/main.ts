import { constants } from 'node:crypto';
import { verifyGateway } from '@sotto/attestation';
import {
  type Environment,
  exitMessage,
  leaveServer,
  listenError,
  loadSettings,
  openLogOutlet,
  openTlsFiles,
  readSettings,
  returnMemoryWhenQuiet,
  StartError,
  settingsSchemas,
} from '@sotto/server';
import { pino } from 'pino';
import { buildKeeper } from './build-keeper.ts';
import { keeperEvents } from './events.ts';
import { FileError, parsePins, parseSecrets, readText } from './files.ts';

/**
 * TLS 1.3 only, because it encrypts the client's certificate. No session tickets, because a resumed session proves no
 * key.
 */
const tlsOptions = { minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET } as const;
const leave = { announceMs: 0, graceMs: 10_000 };

/** Runs the keeper until a signal ends it. */
async function serve(environment: Environment): Promise<void> {
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-keeper', error));
    process.exit(1);
  });
  await start(environment).catch((error: unknown) => {
    const isKnown = error instanceof FileError || error instanceof StartError;
    process.stderr.write(isKnown ? `sotto-keeper: ${error.message}\n` : exitMessage('sotto-keeper', error));
    process.exit(1);
  });
}

async function start(environment: Environment): Promise<void> {
  const loaded = loadSettings({ plane: 'keeper', environment });
  if (!loaded.ok) throw new StartError(loaded.message);
  for (const warning of loaded.warnings) process.stderr.write(`sotto-keeper: warning: ${warning}\n`);
  const read = readSettings(settingsSchemas.keeper, loaded.settings);
  if (!read.ok) throw new StartError(loaded.explain(read.message));
  const config = read.settings;
  const pins = () => parsePins(readText('PINS_FILE', config.PINS_FILE));
  const secrets = () => parseSecrets(readText('SECRETS_FILE', config.SECRETS_FILE));
  // Read both files now, so that the operator sees a problem before the first broker asks.
  pins();
  secrets();
  const tls = openTls(config.TLS_CERT_FILE, config.TLS_KEY_FILE);
  returnMemoryWhenQuiet();
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const events = keeperEvents(pino({ level: config.LOG_LEVEL, base: { process: 'keeper' } }, outlet));
  const origin = config.KEEPER_ORIGIN;
  const options = { ...tlsOptions, ...tls.pair };
  const app = buildKeeper({ origin, tls: options, pins, secrets, verify: verifyGateway, events, now: Date.now });
  const address = await app.listen({ host: config.HOST, port: config.KEEPER_PORT }).catch((error: unknown) => {
    throw listenError(error, 'KEEPER_PORT');
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

function openTls(certFile: string, keyFile: string) {
  try {
    return openTlsFiles(certFile, keyFile);
  } catch {
    throw new StartError(
      'TLS_CERT_FILE and TLS_KEY_FILE cannot be used. Set them to a certificate with its chain and to its key, both as PEM',
    );
  }
}

await serve(process.env);
