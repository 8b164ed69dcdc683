export { buildKeeper, type KeeperOptions } from './build-keeper.ts';
