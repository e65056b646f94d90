export class Panel { constructor(host) { this.host = host; } known() {} open() {} }
