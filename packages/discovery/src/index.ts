export { addProvider, type ProviderFiles } from './add-provider.ts';
export { type RegistryEntry, serverEntry, serverModels } from './entries.ts';
export { type Ask, askServer, type ServerKind } from './model-server.ts';
export { chats, takesTools } from './probe.ts';
export { type ModelServer, recogniseServer, serverKinds } from './recognise.ts';
