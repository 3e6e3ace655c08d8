/** `Client.proto` and `Authentication.proto`: calls of coprocessor endpoints, and the one that gives delegation tokens. */

import { NameBytesPair, RegionSpecifier } from './messages-rpc.js';
import { bytes, message, nested, required, string } from './schema.js';

export const CoprocessorServiceCall = message('CoprocessorServiceCall', {
  row: required(bytes(1)),
  serviceName: required(string(2)),
  methodName: required(string(3)),
  request: required(bytes(4)),
});
export const CoprocessorServiceRequest = message('CoprocessorServiceRequest', {
  region: required(nested(1, RegionSpecifier)),
  call: required(nested(2, CoprocessorServiceCall)),
});
export const CoprocessorServiceResponse = message('CoprocessorServiceResponse', {
  region: required(nested(1, RegionSpecifier)),
  value: required(nested(2, NameBytesPair)),
});

/** `service` is of the kind; HBase leaves it empty, and Java fills the cluster's id in. */
export const TokenMessage = message('Token', { identifier: bytes(1), password: bytes(2), service: bytes(3) });
export const GetAuthenticationTokenResponse = message('GetAuthenticationTokenResponse', {
  token: nested(1, TokenMessage),
});
export const WhoAmIResponse = message('WhoAmIResponse', { username: string(1), authMethod: string(2) });
