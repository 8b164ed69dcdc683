import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';

/** Images and speech are off on this deployment: said before any credential is looked at (design 6). */
export function registerDisabledMedia(app: FastifyInstance): void {
  for (const path of ['/v1/images/generations', '/v1/audio/speech']) {
    app.post(path, async () => {
      throw new ServiceError('media_disabled');
    });
  }
}
