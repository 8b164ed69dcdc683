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

/** Off on this deployment. The broker says so before it looks at a credential or reads a body. */
function registerDisabled(app: FastifyInstance, path: string): void {
  const refuse = async (): Promise<void> => {
    throw new ServiceError('media_disabled');
  };
  app.post(path, { config: { beforeBody: refuse } }, refuse);
}
