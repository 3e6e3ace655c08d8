module.exports = require('typescript-js');
