import { expect, it } from 'vitest';
import { pathBeforeNpm } from '../../../scripts/path-before-npm.mjs';

const npm = [
  '/home/ann/sotto/node_modules/.bin',
  '/home/ann/node_modules/.bin',
  '/home/node_modules/.bin',
  '/node_modules/.bin',
  '/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin',
];
const before = (...folders: readonly string[]): string => pathBeforeNpm('/home/ann/sotto', folders.join(':'));

it('an agent in the user’s own node_modules/.bin is found, and a program of this project is not', () => {
  expect(before(...npm, '/home/ann/shop/node_modules/.bin', '/usr/bin')).toBe(
    '/home/ann/shop/node_modules/.bin:/usr/bin',
  );
  expect(before(...npm, '/home/ann/sotto/node_modules/.bin', '/bin')).toBe('/home/ann/sotto/node_modules/.bin:/bin');
});

it('a PATH that npm did not change stays as it is', () => {
  expect(before('/home/ann/shop/node_modules/.bin', '/usr/bin')).toBe('/home/ann/shop/node_modules/.bin:/usr/bin');
});
