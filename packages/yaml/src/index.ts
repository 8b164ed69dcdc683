export { type FileProblem, type FileResult, readYaml, readYamlAs, writeYaml, type YamlSource } from './yaml.ts';
