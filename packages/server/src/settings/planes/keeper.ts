import { z } from 'zod';
import * as kinds from '../kinds.ts';

/** Every setting that a keeper reads. */
export const keeperSchema = z.object({
  HOST: z.string().default('0.0.0.0').describe('Address that the keeper listens on.'),
  KEEPER_PORT: kinds.port(4002).describe('Port that the keeper listens on.'),
  KEEPER_ORIGIN: kinds.httpsOrigin.describe('Address that brokers reach the keeper at. Their evidence must name it.'),
  TLS_CERT_FILE: kinds.file.describe('Certificate chain, as PEM.'),
  TLS_KEY_FILE: kinds.file.describe('Key of that certificate, as PEM.'),
  PINS_FILE: kinds.file.describe('Measurements of the brokers that get the secrets.'),
  SECRETS_FILE: kinds.file.describe('Secrets that those brokers get.'),
  LOG_LEVEL: kinds.logLevel.default('info').describe('Least severe level that is logged.'),
});
