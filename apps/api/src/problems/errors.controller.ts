import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Open } from '../auth/auth.guard.js';
import { isProblemCode, PROBLEMS } from './catalog.js';
import { Problem } from './problem.js';

/** What the `type` of every problem links to. */
@ApiExcludeController()
@Controller('errors')
export class ErrorsController {
  @Get(':code')
  @Open()
  @Header('content-type', 'text/plain; charset=utf-8')
  explain(@Param('code') code: string): string {
    if (!isProblemCode(code)) throw new Problem('not_found', 'No error has this code');
    const { status, title, meaning } = PROBLEMS[code];
    return `${code} (${status})\n\n${title}.\n\n${meaning}\n`;
  }
}
