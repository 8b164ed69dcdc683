import type { MediaSwitches } from '@sotto/router';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { InferenceDependencies } from './deps.ts';
import { registerImages } from './images/images-route.ts';
import { registerSpeech } from './speech/speech-route.ts';

/** Images and speech, each where it is on. */
export function registerMedia(app: FastifyInstance, deps: InferenceDependencies, media: MediaSwitches): void {
  if (media.image) registerImages(app, deps);
  else registerDisabled(app, '/v1/images/generations');
  if (media.speech) registerSpeech(app, deps);
  else registerDisabled(app, '/v1/audio/speech');
}

/** Off on this deployment: said before any credential is looked at (design 6). */
function registerDisabled(app: FastifyInstance, path: string): void {
  app.post(path, async () => {
    throw new ServiceError('media_disabled');
  });
}
